"""Aggregates by group, and their compiled loops."""
