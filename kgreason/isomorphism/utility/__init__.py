"""Utility and fidelity of releases of graphs under rules."""
