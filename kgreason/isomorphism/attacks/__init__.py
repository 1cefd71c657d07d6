"""Attackers on releases of graphs under rules."""
