"""Graphs of observed links of several relations, and the sensitive relation that they may tell of."""
