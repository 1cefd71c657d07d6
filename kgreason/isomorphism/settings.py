"""Choices and limits of releases of graphs under rules."""

from typing import Literal

Method = Literal["kguard", "klone", "k-iso"]


Mode = Literal["exact", "published"]


Model = Literal["kx-isomorphism", "k-iso"]


MAX_SUBGRAPHS = 1_000_000_000  # by default more are refused: each takes time


MAX_STORED = 10_000_000  # the same where they are stored


MAX_VERTICES = 20_000_000  # larger releases are refused: at 64 bytes and more per vertex they fill memory


MAX_EXAMINED = 20_000_000  # of larger graphs a random part is looked at to tell what they give away
