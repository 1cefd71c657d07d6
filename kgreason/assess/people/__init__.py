"""Judging releases of graphs of people."""
