"""Evaluation engine: from a checked program and its facts to the derived facts."""
