"""Checks of graphs of people; they share no code with the anonymizers but the graph model."""
