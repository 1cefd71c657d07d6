"""Strategies that withhold observed links in part or in whole."""
