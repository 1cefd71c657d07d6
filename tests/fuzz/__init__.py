"""A fuzzer of everything that reads files: valid files are mutated, and reading them must end in facts or in an error.

``python -m tests.fuzz --seconds 60`` runs it; ``tests/engine/test_fuzz.py`` has a short part of it.
"""
