"""Recursive strata that fall apart by the value of one argument, evaluated value by value on all cores."""
