"""Attacks on releases of graphs under rules."""
