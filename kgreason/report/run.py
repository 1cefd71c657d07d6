"""What repeats a run: its parameters, the versions that made it, and what else a report needs to be made."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.records import dataclass
from kgreason.report.data import Section, Table

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


def run_section(seconds: Mapping[str, float], done: Mapping[str, object]) -> Section:
    """Times, and what the algorithm says of its work.

    Parameters
    ----------
    seconds
        By stage.
    done
        Figures of the algorithm.
    """
    times = tuple((stage, f"{s:.2f}") for stage, s in seconds.items())
    items = [Table("Time", ("stage", "seconds"), times, note="of the machine that made the release")]
    if done:
        rows = tuple((name.replace("_", " "), _said(value)) for name, value in done.items())
        items.append(Table("What the algorithm did", ("figure", "value"), rows))
    return Section(
        "The run", "What it took, and with which parameters and versions it can be repeated.", tuple(items)
    )


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(v)}" for name, v in value.items())
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
