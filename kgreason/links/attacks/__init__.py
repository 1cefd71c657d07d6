"""Adversaries who infer sensitive links from released ones."""
