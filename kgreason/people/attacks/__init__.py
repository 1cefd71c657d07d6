"""Attacks on releases of graphs of people."""
