"""Vectorized evaluation of expressions and functions over columns."""
