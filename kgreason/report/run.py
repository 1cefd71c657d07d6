"""What repeats a run: its parameters, the versions that made it, and what else a report needs to be made."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from kgreason.analysis.checked import CheckedProgram

FRESH = "none: drawn by the operating system"


@dataclass(frozen=True)
class Run:
    """How an anonymization was called.

    Attributes
    ----------
    parameters
        By name, ready for JSON.
    seed
        What the generator began with; `None`: the operating system chose.
    program
        The rules, where there are some.
    sampling
        Draws what a report samples; it draws the same each time. `None`: nothing is sampled.
    """

    parameters: Mapping[str, Any]
    seed: int | None = None
    program: CheckedProgram | None = field(default=None, compare=False, repr=False)
    sampling: np.random.Generator | None = field(default=None, compare=False, repr=False)

    @property
    def generator(self) -> np.random.Generator | None:
        """A copy of `sampling`."""
        return deepcopy(self.sampling)

    def whole(self) -> dict[str, Any]:
        """Parameters, seed and versions."""
        return {**self.parameters, "seed": FRESH if self.seed is None else self.seed, **versions()}


def rule_files(program: CheckedProgram) -> list[str]:
    """Names of the files that rules were read from, without folders."""
    return [Path(name).name for name in program.sources if Path(name).suffix]


def versions() -> dict[str, str]:
    """Versions of what a result depends on, and the machine's kind."""
    from importlib.metadata import version

    import kgreason

    return {
        "kgreason": kgreason.__version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "platform": platform.platform(),
    }


def release_version() -> dict[str, str]:
    """Parameters of a public report: the version that made it, and nothing of the machine."""
    import kgreason

    return {"kgreason": kgreason.__version__}
