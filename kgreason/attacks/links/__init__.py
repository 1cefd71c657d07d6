"""Adversaries who infer sensitive links from observed ones."""
