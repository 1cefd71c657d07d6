"""Settings of the anonymizations of graphs under rules: a dataclass per method, and one for all methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kgreason.base.setting_fields import setting
from kgreason.release.publication import RunSettings

Method = Literal["kguard", "klone", "k-iso"]
Mode = Literal["exact", "published", "literal"]
Model = Literal["kx-isomorphism", "k-iso"]
Further = Literal["degree", "neighbours"]

MAX_SUBGRAPHS = 1_000_000_000  # default limit of x-subgraphs, each of which takes time
MAX_STORED = 10_000_000  # default limit where x-subgraphs are stored
MAX_VERTICES = 20_000_000  # larger releases are refused: 64 or more bytes per vertex would fill the memory
MAX_EXAMINED = 20_000_000  # above this number of x-subgraphs, risk is measured on a random part of them


@dataclass(frozen=True, kw_only=True)
class _Attacked(RunSettings):
    k: int = setting(3, option="-k --k", metavar="N", least=2, reported=False)
    """Number of indistinguishable occurrences, 2 or more."""
    x: int | Iterable[int] = setting(4, option="-x --x", metavar="X|A..B", reported=False)
    """Vertices of the connected subgraphs that an attacker knows, or several numbers, as in 2..4: 1 to 6 for kguard, up
    to 8 to be verified."""
    trials: int = setting(10, metavar="N", least=1)
    """Draws of random weights; the most useful draw is kept."""
    max_subgraphs: int | None = setting(None, metavar="N", least=1)
    """Refuse graphs with more connected subgraphs of x vertices; default: 10^9, or 10^7 for published, which stores
    them."""


@dataclass(frozen=True, kw_only=True)
class _Divided(_Attacked):
    split: int | None = setting(None, metavar="VERTICES", least=1)
    """Split the graph into parts of about this many vertices, anonymize them in parallel and remove the edges between
    them: for graphs that are too large or too dense as a whole. The verdict says what is lost."""
    keep_cuts: bool = setting(False)
    """With split: keep the edges between parts, and copy their surroundings so that nothing is lost."""
    also: str | Iterable[str] = setting(())
    """Further guarantees, repeatable: at least k vertices of the release share each in- and out-degree (degree), or
    also the degrees of all neighbours (neighbours, which includes degree). degree adds some edges; neighbours publishes
    k copies of the whole release. Not for k-iso."""


@dataclass(frozen=True, kw_only=True)
class _Given(_Divided):
    in_degrees: str | Path | Sequence[int] | None = setting(None, metavar="DISTRIBUTION", reported=False)
    """For klone, and kguard unless exact: distribution from which in-degrees that must differ are drawn:
    negative-binomial:MEAN,VARIANCE, or a file of degrees, one per line, all equally likely. Default: fitted to the
    graph; for klone, the least degrees that differ."""
    out_degrees: str | Path | Sequence[int] | None = setting(None, metavar="DISTRIBUTION", reported=False)
    """The same for out-degrees."""
    weights_from: str | Path | Sequence[float] | None = setting(None, metavar="FILE", reported=False)
    """File of weights, one per line: new weights are distributed as these, as far as the rules allow, and not as those
    of the graph. Not for k-iso."""
    labels: str | Path | Iterable[str] | None = setting(None, metavar="FILE", reported=False)
    """File of labels, one per line, none of them a label of the graph: the vertices of the release get these at random,
    instead of random labels. README.txt says that labels are from a list. Not for k-iso."""


@dataclass(frozen=True, kw_only=True)
class _Continued(_Given):
    after: Path | str | None = setting(None, metavar="DIR", reported=False)
    """For kguard and klone: private folder of the release before, for a series of releases of a graph that changes. Its
    additions stay, and the verdict says which subgraphs keep k occurrences for who joins the releases."""
    window: int = setting(3, metavar="N", least=1)
    """With after: number of consecutive releases that an attacker may join."""


@dataclass(frozen=True, kw_only=True)
class Kguard(_Continued):
    """Settings of KGUARD."""

    mode: Mode = setting("exact")
    """For kguard: exact protects every subgraph; published is Algorithm 3 of the paper with a lighter reading of its
    line 11, literal has line 11 as written, which adds far more edges. Both may leave some subgraphs without images,
    which the verdict counts."""
    plans: int | None = setting(None, metavar="N", least=1)
    """For kguard, exact: complete attempts, of which one is released: that with the highest precision of derived facts,
    among those with at most 10 % more additions than the fewest. Default: 4, on small graphs 8, on large ones fewer."""


@dataclass(frozen=True, kw_only=True)
class Klone(_Continued):
    """Settings of KLONE."""


@dataclass(frozen=True, kw_only=True)
class KIso(_Attacked):
    """Settings of k-Iso."""


@dataclass(frozen=True, kw_only=True)
class Settings(Kguard, Klone, KIso):
    """Method and its parameters."""

    method: Method = setting("kguard")
    """klone protects every x by k copies; kguard protects one x, or several, with far fewer additions; k-iso is a
    baseline: k isomorphic blocks, which protect neither derived edges nor degrees."""
