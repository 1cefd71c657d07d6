"""Chase: labelled nulls, equality-generating dependencies and constraints."""
