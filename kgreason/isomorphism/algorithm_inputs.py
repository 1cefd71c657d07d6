"""Inputs of KLONE and KGUARD besides the graph: distributions of degrees and weights, and the set of labels.

The paper's algorithms take them (p_in, p_out, p_ω and L_A). By default distributions are fitted to the graph, and
labels are random.

References
----------
KGISO, inputs of Algorithms 1 and 3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kgreason.base.errors import AnonymizationError, CallError, DataError
from kgreason.base.records import record
from kgreason.isomorphism.anonymizers.assembly import check_enough, is_symmetric
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, SampledDegrees

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgreason.graph.knowledge_graph import KnowledgeGraph, Weights
    from kgreason.isomorphism.anonymizers.degree_distributions import Draws
    from kgreason.isomorphism.settings import Settings

T = TypeVar("T")
_NAMES = "in_degrees", "out_degrees", "weights_from", "labels"
_NAMED = "negative-binomial"
_MOST = 1_000_000  # largest degree that is read or drawn
_LEAST = 1e-6  # mean; numpy draws from no smaller, and of no greater variance than _MOST squared
_LABEL = re.compile(r"[^\W\d_][\w-]*")
# words that begin with a letter and that some format reads as another value
_WORDS = {"true", "false", "null", "nan", "inf", "infinity", "none", "na"}


@record(eq=False)
class AlgorithmInputs:
    """Inputs that were given; `None`: the default.

    Attributes
    ----------
    in_degrees, out_degrees
        Distributions p_in and p_out, from which degrees are drawn that must differ.
    weights
        Values in [0, 1] to which the density p_ω of new weights is fitted instead of the graph's.
    labels
        The set L_A of labels, in any order.
    """

    in_degrees: Draws | None = None
    out_degrees: Draws | None = None
    weights: Weights | None = None
    labels: Sequence[str] | None = None

    @classmethod
    def of(cls, settings: Settings) -> AlgorithmInputs:
        """Read the inputs that settings name.

        Raises
        ------
        AnonymizationError
            If the method, or its mode, has no such input.
        DataError
            If a file cannot be read, or a value in it is no degree, weight or label.
        """
        given = [name for name in _NAMES if getattr(settings, name) is not None]
        if settings.method == "k-iso" and given:
            raise AnonymizationError(
                f"k-Iso takes no {_option(given[0])}", hint=f"leave {_option(given[0])} out, or the method"
            )
        if (
            settings.method == "kguard"
            and settings.mode == "exact"
            and {*given} & {"in_degrees", "out_degrees"}
        ):
            raise AnonymizationError(
                f"KGUARD in its exact mode draws no degrees, so it takes no {_option(given[0])}",
                hint=f"leave {_option(given[0])} out, or say --mode published, or --method klone",
            )
        return cls(
            _degrees(settings.in_degrees, "in_degrees"),
            _degrees(settings.out_degrees, "out_degrees"),
            _weights(settings.weights_from),
            _labels(settings.labels),
        )

    def shown(self, settings: Settings) -> dict[str, Any]:
        """Inputs as reports list them: files and named distributions as given, of other values their number."""
        values = self.in_degrees, self.out_degrees, self.weights, self.labels
        found: dict[str, Any] = {}
        for name, value in zip(_NAMES, values, strict=True):
            given = getattr(settings, name)
            listed = value.values if isinstance(value, SampledDegrees) else value
            if given is None or isinstance(given, str | Path):
                found[name] = None if given is None else str(given)
            elif not isinstance(listed, DegreeDistribution | None):
                found[name] = f"{len(listed):,} values"
        return found

    def check(self, graph: KnowledgeGraph, *, numbered: bool) -> None:
        """Check that the inputs fit a graph, whose release names vertices by numbers if `numbered`.

        Raises
        ------
        AnonymizationError
            If an input would have no effect, or there are too few labels or some that the graph has, too.
        """
        if self.out_degrees is not None and is_symmetric(graph):
            raise AnonymizationError(
                "every edge of the graph has its reverse, so a vertex has one degree, drawn from --in-degrees",
                hint="leave --out-degrees out",
            )
        if self.weights is not None and all(r.weight is None for r in graph.relations.values()):
            raise AnonymizationError(
                "the edges of the graph have no weights", hint="leave --weights-from out"
            )
        if self.labels is None:
            return
        if numbered:
            raise AnonymizationError(
                "the format of the release names vertices by numbers, not by labels",
                hint="leave --labels out, or choose another format, as by --format csv",
            )
        if both := sorted(set(self.labels) & set(graph.labels.tolist())):
            raise AnonymizationError(
                f"{len(both):,} of the labels are labels of the graph, for instance {both[0]!r}",
                hint="list other labels: no label of the release may be one of the original",
            )
        check_enough(self.labels, graph.n)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _degrees(given: Any, name: str) -> Draws | None:
    if given is None:
        return None
    kind, colon, numbers = str(given).partition(":") if isinstance(given, str) else ("", "", "")
    if colon and kind == _NAMED:
        return _named(numbers, name)
    found = np.array(
        _values(given, name, _degree, f"a degree is a whole number, 0 to {_MOST:,}"), dtype=np.int64
    )
    return SampledDegrees(found)


def _named(numbers: str, name: str) -> DegreeDistribution:
    try:
        mean, variance = map(float, numbers.split(","))
    except ValueError:
        mean = variance = np.nan
    if not (_LEAST <= mean <= min(variance, _MOST) and variance <= _MOST**2):
        raise AnonymizationError(
            f"{_option(name)}: {numbers[:40]!r} is no mean and variance of a negative binomial distribution of degrees",
            hint=f"say for instance {_NAMED}:3,9: the variance is at least the mean (3,3 is Poisson), and the mean is "
            f"{_MOST:,} at most",
        )
    return DegreeDistribution(mean, variance, _MOST)


def _degree(text: object) -> int:
    number = int(str(text))
    if not 0 <= number <= _MOST:
        raise ValueError(text)
    return number


def _weights(given: Any) -> Weights | None:
    if given is None:
        return None
    return np.array(_values(given, "weights_from", _weight, "a weight lies in [0, 1]"), dtype=np.float64)


def _weight(text: object) -> float:
    number = float(str(text))
    if not 0 <= number <= 1:
        raise ValueError(text)
    return number


def _labels(given: Any) -> Sequence[str] | None:
    if given is None:
        return None
    rule = (
        "a label begins with a letter, has letters, digits, - and _ only, and is no word such as true, null or nan, so "
        "that every format keeps it"
    )
    found: Sequence[str] = _values(given, "labels", _label, rule)
    if len(set(found)) < len(found):
        twice, _ = Counter(found).most_common(1)[0]
        raise DataError(_source(given, "labels"), f"{twice!r} is listed twice", hint="list each label once")
    return found


def _label(text: object) -> str:
    label = str(text)
    if not _LABEL.fullmatch(label) or label.lower() in _WORDS:
        raise ValueError(label)
    return label


def _source(given: Any, name: str) -> str:
    return str(given) if isinstance(given, str | Path) else name


def _values(given: Any, name: str, parse: Callable[[object], T], rule: str) -> list[T]:
    """Values of a file, one in each line that is not empty, or of a list."""
    if isinstance(given, str | Path):
        rows = _lines(Path(given), name)
    elif isinstance(given, Iterable):
        rows = [*enumerate(given, start=1)]
    else:
        hint = "name a file of one value per line, or list the values"
        raise CallError(f"{name} has the type {type(given).__name__}", hint=hint)
    source, found = _source(given, name), []
    for number, value in rows:
        try:
            found.append(parse(value))
        except ValueError:
            raise DataError(source, f"{str(value)[:40]!r}: {rule}", number, hint="mend this value") from None
    if not found:
        raise DataError(source, "there are no values", hint="write one in each line")
    return found


def _lines(file: Path, name: str) -> list[tuple[int, object]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        named = f", or {_NAMED}:MEAN,VARIANCE" if "degrees" in name else ""
        why = getattr(error, "strerror", None) or error
        hint = f"{_option(name)} names a file of one value per line{named}"
        raise DataError(str(file), f"cannot be read: {why}", hint=hint) from error
    lines: list[tuple[int, object]] = [*enumerate(map(str.strip, text.splitlines()), start=1)]
    return [(number, line) for number, line in lines if line]
