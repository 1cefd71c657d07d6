"""Releases that leave out a sensitive relation, and more or less of what it could be inferred from."""
