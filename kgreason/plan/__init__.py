"""Checked program to plan."""
