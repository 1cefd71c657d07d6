"""Reasoning from Python: load, reason, explain, and an incremental reasoner."""
