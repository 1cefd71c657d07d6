"""Algorithms that make anonymous graphs."""
