"""Derived edges on induced subgraphs."""
