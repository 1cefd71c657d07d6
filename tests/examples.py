"""How many inputs a property is tried on: a share of what its test asks for, as the hypothesis profile says."""

from __future__ import annotations

from hypothesis import settings


def inputs(examples: int) -> int:
    """Inputs for a property that deserves `examples` of them: fewer in the quick suite, half of them in `.ci/run`."""
    return max(1, examples * settings.default.max_examples // 100)
