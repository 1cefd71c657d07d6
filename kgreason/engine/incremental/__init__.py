"""Incremental maintenance: derived facts are updated when input facts change."""
