"""Strategies that release all, some or none of the observed links."""
