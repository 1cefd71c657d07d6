"""Derived facts kept up to date while the facts that they come from are edited."""
