"""Grouped aggregates and their compiled kernels."""
