"""Expressions and functions, evaluated over columns."""
