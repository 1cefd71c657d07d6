"""Anonymizers of graphs under rules: KLONE, KGUARD, k-Iso, and their components."""
