"""Reasoning from Python: load, reason, explain, and a reasoner that follows edits."""
