"""Programs from text, read once each: tests of what programs do ask for the same ones again and again."""

from __future__ import annotations

from functools import lru_cache

from kgreason.language.check import program_checker

load_text = lru_cache(maxsize=32)(program_checker.load_text)
