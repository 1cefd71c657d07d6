"""How many inputs a property is tried on: a share of what its test asks for, as the hypothesis profile says."""

from __future__ import annotations

from hypothesis import settings


def inputs(examples: int) -> int:
    """Inputs of a property that deserves `examples` of them: a fifteenth in the quick suite, a fifth in `.ci/run`."""
    return max(1, examples * settings.default.max_examples // 100)
