"""Folders of the checkout, and of the public graphs beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared" / "data"
