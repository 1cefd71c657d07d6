"""Graphs of people: users with attribute values, and typed relations between users."""
