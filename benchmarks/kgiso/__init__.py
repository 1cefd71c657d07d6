"""Reproduction of the tables and figures of the KGISO paper: runs, published figures, and the page of both."""
