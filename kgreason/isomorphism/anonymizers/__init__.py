"""KLONE, KGUARD, k-Iso, and their parts."""
