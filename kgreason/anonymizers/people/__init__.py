"""Anonymizers of graphs of people: users share attribute values and degrees with others (docs/people.md)."""
