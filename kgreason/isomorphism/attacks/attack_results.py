"""Results of attacks, as figures and as a text table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.isomorphism.attacks.attack_settings import PARTS
from kgreason.release.rates import Floats, Rate

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
HEAD = (
    "attacker knows",
    "x'",
    "candidates",
    "found",
    "unique",
    "naive",
    "others",
    "before",
    "filtered",
    "guarantee",
)
NAMED = 5  # maximum number of exposed vertices in the text
NOTED = 0.01  # minimum probability of an exposed vertex in the text
FORMULAS = {part.name: part.formula for part in PARTS}


@record
class Run:
    """One run of an attack on the release or on a graph for comparison.

    Attributes
    ----------
    targets
        Number of vertices or x-subgraphs that were attacked.
    all
        Whether these are all vertices or x-subgraphs.
    candidates
        Sizes of the candidate sets: minimum, quartiles and maximum; empty without targets.
    found
        Mean probability that a uniform guess among the candidates finds the target.
    unique
        Share of the targets that are their only candidate.
    misled
        Share of the targets that are not among their candidates.
    complete
        Whether the whole release was searched; otherwise candidate numbers are lower and rates upper bounds.
    """

    targets: int
    all: bool
    candidates: tuple[float, ...]
    found: Rate
    unique: Rate
    misled: Rate
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        sizes = dict(zip(("least", "lower", "median", "upper", "greatest"), self.candidates, strict=False))
        return asdict(self) | {"candidates": sizes}


@record
class Promise:
    """Whether the guarantee of the release withstands an attacker who knows an x-subgraph.

    Attributes
    ----------
    reason
        Reason why Definition 4.1, with the given k and x, does not cover the attacker; empty if it does.
    resisted, undecided, targets
        Numbers of x-subgraphs: protected (at least k candidates share no vertex and differ in all degrees, the true one
        among them, or the true one is no candidate), with the search given up, and all.
    """

    reason: str
    resisted: int
    undecided: int
    targets: int

    @property
    def promised(self) -> bool:
        """Whether the definition covers the attacker."""
        return not self.reason

    @property
    def resists(self) -> bool:
        """Whether every x-subgraph is known to be protected."""
        return self.resisted == self.targets

    @property
    def state(self) -> Literal["resists", "succeeds", "undecided"]:
        """Outcome: the attacker succeeds if an x-subgraph is known to be unprotected.

        Examples
        --------
        >>> Promise("", 3, 0, 3).state, Promise("", 2, 0, 3).state, Promise("", 2, 1, 3).state
        ('resists', 'succeeds', 'undecided')
        """
        if self.resists:
            return "resists"
        return "undecided" if self.resisted + self.undecided == self.targets else "succeeds"

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return {"promised": self.promised, "state": self.state, "resists": self.resists, **asdict(self)}


@record
class Exposed:
    """Original vertex with the probability that it is found."""

    vertex: str
    found: float


@record
class Attack:
    """Results of one attacker.

    Attributes
    ----------
    knowledge
        Name of the knowledge.
    size
        Size of the known x-subgraph; 0 for other knowledge.
    runs
        By name: ``main`` (against the release), ``naive`` (without knowledge), ``control`` (with knowledge of a graph
        that is not in the data), ``unprotected`` (against the original) and ``filtered`` (against the release without
        implausible edges).
    exposed
        Most surely found vertices of the main run, with their original labels; secret.
    promise
        Result for the guarantee; `None` if it does not apply.
    """

    knowledge: str
    size: int
    runs: Mapping[str, Run]
    exposed: tuple[Exposed, ...]
    promise: Promise | None = None

    @property
    def excess(self) -> float:
        """Excess risk due to the release: (main - control) / (1 - control), at least 0."""
        control = self.runs["control"].found.value
        return max(0.0, (self.runs["main"].found.value - control) / (1 - control)) if control < 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict."""
        return {
            "knowledge": self.knowledge,
            "size": self.size or None,
            "runs": {name: run.as_dict() for name, run in self.runs.items()},
            "excess": self.excess,
            "promise": self.promise and self.promise.as_dict(),
            "exposed": list(map(asdict, self.exposed)),
        }


@record
class Filtered:
    """Result of the filter of implausible edges.

    Attributes
    ----------
    dropped, synthetic, right
        Numbers of dropped edges, of synthetic edges of the release, and of edges that are both.
    """

    edges: int
    dropped: int
    synthetic: int
    right: int

    @property
    def precision(self) -> float:
        """Share of the dropped edges that are synthetic."""
        return self.right / self.dropped if self.dropped else 0.0

    @property
    def recall(self) -> float:
        """Share of the synthetic edges that are dropped."""
        return self.right / self.synthetic if self.synthetic else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict; `base` is the precision of a random filter."""
        base = self.synthetic / self.edges if self.edges else 0.0
        return asdict(self) | {"precision": self.precision, "recall": self.recall, "base": base}


@dataclass(frozen=True)
class Attacks(Displayed):
    """Results of all attacks on a release.

    Attributes
    ----------
    k, x
        Parameters of the guarantee.
    attacks
        Results of each attacker.
    filtered
        Result of the filter of implausible edges.
    """

    k: int
    x: tuple[int, ...]
    attacks: tuple[Attack, ...]
    filtered: Filtered
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Attacks: {len(self.attacks)}, {'as promised' if self.as_promised else 'not as promised'}>"

    def __str__(self) -> str:
        return as_text(self)

    def __getitem__(self, key: str | tuple[str, int]) -> Attack:
        """Return an attack by its knowledge, or by its knowledge and size.

        Raises
        ------
        KeyError
            If there is no such attack.
        """
        name, size = key if isinstance(key, tuple) else (key, None)
        for attack in self.attacks:
            if attack.knowledge == name and size in (None, attack.size):
                return attack
        raise KeyError(key)

    @property
    def broken(self) -> tuple[Attack, ...]:
        """Attacks that succeed although the guarantee covers them."""
        return self._promised("succeeds")

    @property
    def undecided(self) -> tuple[Attack, ...]:
        """Attacks that the guarantee covers and whose search was given up."""
        return self._promised("undecided")

    @property
    def as_promised(self) -> bool:
        """Whether all attacks that the guarantee covers are known to fail."""
        return not self.broken and not self.undecided

    def _promised(self, state: str) -> tuple[Attack, ...]:
        return tuple(a for a in self.attacks if a.promise and a.promise.promised and a.promise.state == state)

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serializable dict with original labels (secret); `format` is the version of the layout."""
        return {
            "format": 1,
            "k": self.k,
            "x": list(self.x),
            "as_promised": self.as_promised,
            "attacks": [attack.as_dict() for attack in self.attacks],
            "filter": self.filtered.as_dict(),
            "notes": list(self.notes),
        }


def quantiles(sizes: Floats) -> tuple[float, ...]:
    """Minimum, quartiles and maximum.

    Examples
    --------
    >>> quantiles(np.array([3.0, 1.0, 2.0]))
    (1.0, 1.5, 2.0, 2.5, 3.0)
    """
    return tuple(np.quantile(sizes, QUANTILES).tolist()) if len(sizes) else ()


def as_text(found: Attacks) -> str:
    """Format the results: a row for each attack, the result of the filter, and the most exposed vertices."""
    rows = [HEAD, *(row(attack) for attack in found.attacks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in rows
    ]
    return "\n".join([*lines, "", *_legend(found), "", *_rest(found)])


def row(attack: Attack) -> tuple[str, ...]:
    """Cells of the table row of an attack, as in `HEAD`."""
    main = attack.runs["main"]
    candidates = "..".join(f"{c:,.0f}" for c in main.candidates[::2])
    others = (attack.runs.get(run) for run in ("naive", "control", "unprotected", "filtered"))
    return (
        FORMULAS.get(attack.knowledge, attack.knowledge),
        str(attack.size or ""),
        candidates if main.complete else f"≥ {candidates}",
        f"{percent(main.found)}{_margin(main.found)}",
        percent(main.unique),
        *("-" if run is None else percent(run.found) for run in others),
        _guarantee(attack),
    )


def percent(rate: Rate) -> str:
    """Format a rate in per cent.

    Examples
    --------
    >>> percent(Rate(0.0004, 0, 0)), percent(Rate(0.5, 0.4, 0.6)), percent(Rate(0.0, 0.0, 0.0))
    ('0.04 %', '50.0 %', '0 %')
    """
    value = 100 * rate.value
    if not value:
        return "0 %"
    return f"{value:.1f} %" if value >= 0.95 else f"{value:.2g} %"


def _margin(rate: Rate) -> str:
    return f" ({100 * rate.low:.1f}..{100 * rate.high:.1f})" if rate.high > rate.low else ""


def _guarantee(attack: Attack) -> str:
    promise = attack.promise
    if promise is None:
        return "none"
    undecided = promise.undecided if promise.state == "undecided" else 0
    failed = undecided or promise.targets - promise.resisted - promise.undecided
    count = f" {failed:,}/{promise.targets:,}" if failed else ""
    return f"{'promised' if promise.promised else f'not covered ({promise.reason})'}: {promise.state}{count}"


def _legend(found: Attacks) -> Iterator[str]:
    """Explanations of the columns that are in use."""
    reasons = {attack.promise.reason for attack in found.attacks if attack.promise}
    sizes = ", ".join(map(str, found.x))
    yield "x'          vertices of the subgraph of the original that the attacker knows"
    yield "candidates  occurrences in the release that fit this knowledge: least..median..greatest"
    yield "found       probability to pick the true candidate, mean over the targets (95 % interval)"
    yield "unique      targets that are the only candidate"
    yield "naive       found without any knowledge"
    yield "others      found with the knowledge of a target that is not in the data"
    yield "before      found in the original"
    yield "filtered    found in the release without implausible edges"
    yield f"guarantee   promised: covered by -k {found.k} -x {sizes}; resists: every target keeps {found.k} occurrences"
    yield "            that share no vertex and differ in all degrees; succeeds n/m: n of m targets do not"
    if any(reason.startswith("x'") for reason in reasons):
        yield f"            not covered (x' > ... or < ...): -x {sizes} does not cover subgraphs of this size. KLONE"
        yield "            promises every size: name this one by -x, too, for its releases"
    if "other rules" in reasons:
        yield "            not covered (other rules): the definition covers the rules of the release alone"
    if "original weights" in reasons:
        yield "            not covered (original weights): the definition covers what released weights derive"


def _rest(found: Attacks) -> Iterator[str]:
    f = found.filtered
    yield (
        f"filter: {f.dropped:,} of {f.edges:,} edges dropped; {f.right:,} of them are among the {f.synthetic:,} "
        f"synthetic ones (precision {f.precision:.2f}, by chance {f.synthetic / max(f.edges, 1):.2f}; "
        f"recall {f.recall:.2f})"
    )
    yield from found.notes
    if found.broken:
        yield "BROKEN: an attacker against whom the guarantee protects distinguishes some occurrences"
    if found.undecided:
        yield "UNDECIDED: it is not known whether the guarantee holds against an attacker against whom it protects"
    exposed = [(e, attack) for attack in found.attacks for e in attack.exposed if e.found >= NOTED]
    first = dict[str, str]()
    for e, attack in sorted(exposed, key=lambda pair: (-pair[0].found, pair[0].vertex)):
        size = f" of {attack.size} vertices" if attack.size else ""
        first.setdefault(e.vertex, f"{e.vertex} ({100 * e.found:.0f} % by {attack.knowledge}{size})")
    if first:
        yield f"most exposed (original vertices: keep this secret): {', '.join([*first.values()][:NAMED])}"
