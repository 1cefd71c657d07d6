"""The rule language: from text to a checked program; values, functions, formatter, highlighter."""
