"""The rule language: parser, checker, values, functions, formatter, highlighter."""
