"""Evaluation of plans and, as an oracle, of checked programs."""
