"""From a syntax tree to a checked program."""
