"""The engine: from a checked program and facts to derived facts."""
