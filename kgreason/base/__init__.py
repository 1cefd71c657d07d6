"""Foundations without knowledge of graphs or rules: errors, compiled kernels, threads, memory, progress, files."""
