"""Foundations without knowledge of graphs or rules: errors, compiled kernels, cores, memory, progress, atomic files."""
