"""Attackers who infer sensitive links from released ones."""
