"""Graphs of observed links and the sensitive relation that they may disclose."""

from kgreason.base.resources import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
