"""Releases of graphs under rules: (k,x)-isomorphism."""
