"""Separable recursive strata, evaluated independently and in parallel for each value of one argument."""
