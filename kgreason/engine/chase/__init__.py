"""The chase: labelled nulls, equality-generating dependencies, constraints."""
