"""Utility of releases of graphs of people."""
