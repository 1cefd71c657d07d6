"""Checker: from a syntax tree to a checked program."""
