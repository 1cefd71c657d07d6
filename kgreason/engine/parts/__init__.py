"""Evaluation of programs in independent parts, one after another."""
