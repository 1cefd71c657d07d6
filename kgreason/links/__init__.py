"""Releases of observed links: files, results, what is said of them."""
