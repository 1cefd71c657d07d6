"""Figures of the papers on graphs of people, measured again."""
