"""Attackers on releases of graphs of people."""
