"""Graphs of people: users with attribute values, and typed relations between users."""

from kgreason.base.resources import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
