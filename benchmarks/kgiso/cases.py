"""Runs for each figure and table of the KGISO paper (section 7), and the numbers that the paper prints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from graphs import (
    ASX,
    BITCOIN,
    BITCOIN_SAMPLE,
    BUS,
    BUS_AS_STORED,
    EVA,
    INFECT_DUBLIN,
    MAHINDAS,
    MAHINDAS_SAMPLE,
    MOVIELENS,
    MOVIELENS_FIRST,
    MOVIELENS_SAMPLE,
    REGISTER,
    SGX,
    Generated,
    Graph,
    erdos_renyi,
    scale_free,
)

K, X, N = 3, 4, 500  # "where not otherwise stated"
PART = 1_000  # vertices of a part of split & merge
SMALL = 1_000  # random graphs of so many vertices are measured with several seeds

KLONE, PUBLISHED, EXACT, K_ISO = "klone", "kguard/published", "kguard/exact", "k-iso"
LITERAL = "kguard/literal"
TITLES = {
    KLONE: "KLONE",
    PUBLISHED: "KGUARD, published",
    LITERAL: "KGUARD, literal",
    EXACT: "KGUARD, exact",
    K_ISO: "k-Iso",
}
OURS = (KLONE, PUBLISHED, EXACT)

SAMPLE = 2_000  # subgraphs from which δ of k-Iso is estimated where its release has too many to decide each
ESTIMATED: frozenset[Graph] = frozenset((MAHINDAS, MAHINDAS_SAMPLE, BITCOIN))

REACH, CONTROL, ULTIMATE = (
    "rules/reachability",
    "benchmarks/programs/kgiso_control",
    "benchmarks/programs/kgiso_ultimate",
)


@dataclass(frozen=True)
class Setting:
    """One way to anonymize one graph.

    Attributes
    ----------
    graph, rules, method
        What is anonymized, under which rules (a path without its ending), and how.
    k, x
        Places, and vertices of the parts that are protected.
    split
        Vertices of a part; 0: as a whole.
    """

    graph: Graph
    rules: str
    method: str
    k: int = K
    x: int = X
    split: int = 0

    def __str__(self) -> str:
        parts = f" split={self.split}" if self.split else ""
        return f"{self.graph.name} {self.rules.rpartition('/')[2]} {self.method} k={self.k} x={self.x}{parts}"

    @property
    def sample(self) -> int:
        """Number of subgraphs from which δ is estimated; 0: each is decided."""
        return SAMPLE if self.method == K_ISO and self.graph in ESTIMATED else 0

    @property
    def options(self) -> list[str]:
        """Words of ``kgreason anonymize`` for it."""
        method, _, mode = self.method.partition("/")
        words = [
            "--method",
            method,
            *(["--mode", mode] if mode else []),
            "-k",
            str(self.k),
            "-x",
            str(self.x),
        ]
        return words + (["--split", str(self.split)] if self.split else [])

    def seeds(self, repeats: int) -> range:
        """Seeds with which it is run: several for small random graphs, as each seed gives another one."""
        small = isinstance(self.graph, Generated) and self.graph.n <= SMALL
        return range(repeats if small else 1)


@dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes
    ----------
    sizes, large
        Vertices of random graphs that are anonymized as a whole, and of those that are divided as well.
    ks, xs
        What is varied on graphs of `N` vertices.
    repeats
        Seeds for small random graphs.
    most
        Random graphs in the tables have at most so many vertices, and there are no public ones; 0: all are there.
    """

    sizes: tuple[int, ...]
    large: tuple[int, ...]
    ks: tuple[int, ...]
    xs: tuple[int, ...]
    repeats: int
    most: int = 0

    def takes(self, graph: Graph) -> bool:
        """Whether the tables have it."""
        return not self.most or (isinstance(graph, Generated) and graph.n <= self.most)


FULL = Scale((100, 300, 1_000, 3_000, 10_000), (30_000, 100_000), tuple(range(2, 9)), (2, 3, 4, 5), repeats=3)
QUICK = Scale((100, 300, 1_000), (), (2, 5, 8), (2, 3, 4), repeats=1, most=500)


@dataclass(frozen=True)
class Line:
    """A line of a figure: a method, on whole graphs or in parts."""

    method: str
    split: bool = False

    def __str__(self) -> str:
        return TITLES[self.method] + (", in parts" if self.split else "")


@dataclass(frozen=True)
class Sweep:
    """What depends on one quantity.

    Attributes
    ----------
    title, axis
        Its name, and that of the quantity.
    lines
        A setting for each value of the quantity, on each line.
    sizes
        Whether the quantity is the size of the graph, which spans powers of ten.
    """

    title: str
    axis: str
    lines: Mapping[Line, Mapping[int, Setting]]
    sizes: bool = False

    @property
    def values(self) -> list[int]:
        """Values of the quantity on any line."""
        return sorted({value for line in self.lines.values() for value in line})


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, with what its plot shows."""

    number: int
    title: str
    metrics: tuple[str, ...]
    sweeps: tuple[Sweep, ...]


def by_size(scale: Scale, title: str, rules: str, graph: Callable[[int], Graph]) -> Sweep:
    """Graphs that grow; the paper divides those above 10,000 vertices, and so do lines of their own."""
    whole = {PUBLISHED: scale.sizes, KLONE: scale.sizes + scale.large, EXACT: scale.sizes + scale.large}
    lines = {Line(method): {n: Setting(graph(n), rules, method) for n in whole[method]} for method in OURS}
    for method in OURS if scale.large else ():
        parts = {n: Setting(graph(n), rules, method, split=PART) for n in scale.large}
        lines[Line(method, split=True)] = parts
    return Sweep(title, "vertices, n", lines, sizes=True)


def figures(scale: Scale) -> tuple[Figure, ...]:
    """Figures 4 and 5."""
    graph = erdos_renyi(N)
    random = (
        by_size(scale, f"over n (k = {K}, x = {X})", REACH, erdos_renyi),
        Sweep(
            f"over k (n = {N}, x = {X})",
            "places, k",
            {Line(m): {k: Setting(graph, REACH, m, k=k) for k in scale.ks} for m in OURS},
        ),
        Sweep(
            f"over x (n = {N}, k = {K})",
            "vertices of a part, x",
            {Line(m): {x: Setting(graph, REACH, m, x=x) for x in scale.xs} for m in OURS},
        ),
    )
    free = by_size(scale, f"over n (k = {K}, x = {X})", ULTIMATE, lambda n: scale_free(n, 5))
    return (
        Figure(4, "Erdős–Rényi graphs", ("added", "u_symmetric", "degree", "seconds"), random),
        Figure(
            5, "Scale-free graphs, α = 5", ("added", "u_symmetric", "degree", "weights", "seconds"), (free,)
        ),
    )


@dataclass(frozen=True)
class Row:
    """A row of a table of the paper.

    Attributes
    ----------
    title, rules
        Its graph as the paper has it, and the rules.
    paper
        What the paper prints, by its algorithm, in the order of the table's metrics but the last; nothing for a dash.
    readings
        The graphs that we measure there, and what they are.
    size
        Vertices and edges that the paper prints, rounded; no number for what it does not print.
    """

    title: str
    rules: str
    paper: Mapping[str, tuple[float | None, ...]]
    readings: Mapping[str, Graph]
    size: tuple[int | None, int | None]

    def same_size(self, vertices: float | None, edges: float | None) -> bool:
        """Whether a graph has the paper's size, as far as the paper prints it, after rounding to hundreds."""
        measured = zip(self.size, (vertices, edges), strict=True)
        return all(want is None or (has is not None and round(has, -2) == want) for want, has in measured)

    def printed(self, method: str) -> tuple[float | None, ...]:
        """What the paper has for one of our methods: both modes of KGUARD are compared with the paper's one."""
        return (*self.paper[method.partition("/")[0]], None)

    def methods(self, table: Table, reading: str) -> tuple[str, ...]:
        """What is run on a reading: the methods of the table, and line 11 as it stands after its lighter reading."""
        if table.literal and self.readings[reading] in LITERALLY:
            at = table.methods.index(PUBLISHED) + 1
            return (*table.methods[:at], LITERAL, *table.methods[at:])
        return table.methods


@dataclass(frozen=True)
class Table:
    """A table of the paper; the last of its metrics, the time, is ours.

    `literal`: whether KGUARD is also run with line 11 of its algorithm as it stands, on the graphs of `LITERALLY`.
    """

    number: int
    title: str
    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    rows: tuple[Row, ...]
    literal: bool = False

    def taken(self, scale: Scale) -> list[tuple[Row, str, Graph]]:
        """Rows and readings that belong to a scale."""
        return [
            (r, name, graph) for r in self.rows for name, graph in r.readings.items() if scale.takes(graph)
        ]


def _random(
    title: str,
    rules: str,
    graph: Generated,
    klone: tuple[float, ...],
    kguard: tuple[float, ...],
    edges: int | None = None,
) -> Row:
    return Row(title, rules, {"klone": klone, "kguard": kguard}, {"": graph}, (graph.n, edges))


TABLE_1 = Table(
    1,
    "Erdős–Rényi and scale-free graphs",
    ("u", "u_symmetric", "weights", "degree", "seconds"),
    OURS,
    (
        _random(
            "Erdős–Rényi n = 10k, M = 50k",
            REACH,
            erdos_renyi(10_000, 50_000),
            (0.000, 0.683, 0.007, 4.631),
            (0.000, 0.028, 0.009, 0.663),
            50_000,
        ),
        _random(
            "Erdős–Rényi n = 500, M = 5k",
            REACH,
            erdos_renyi(500, 5_000),
            (0.000, 0.667, 0.423, 5.314),
            (0.000, 0.154, 0.418, 3.354),
            5_000,
        ),
        _random(
            "power law n = 500, α = 3",
            ULTIMATE,
            scale_free(500, 3),
            (0.157, 0.891, 0.211, 3.315),
            (0.112, 0.728, 0.148, 2.163),
        ),
        _random(
            "power law n = 10k, α = 5",
            ULTIMATE,
            scale_free(10_000, 5),
            (0.118, 0.970, 0.186, 3.165),
            (0.155, 0.662, 0.011, 0.182),
        ),
    ),
)

COMPANIES: Mapping[str, Graph] = {"a register of 3,000, generated": REGISTER, "ASX 200": ASX}
LARGE_COMPANIES: Mapping[str, Graph] = {"EVA, shares drawn": EVA, "SGX top 20": SGX}
MOVIES: Mapping[str, Graph] = {"3,200 ratings drawn": MOVIELENS_SAMPLE}
ENTRIES: Mapping[str, Graph] = {"3,300 entries drawn": MAHINDAS_SAMPLE}
CONTACTS: Mapping[str, Graph] = {"as stored": INFECT_DUBLIN}
LINES: Mapping[str, Graph] = {"one triangle, with the diagonal": BUS_AS_STORED}
TRUST: Mapping[str, Graph] = {"3,100 ratings drawn": BITCOIN_SAMPLE}
LITERALLY: frozenset[Graph] = frozenset(
    (REGISTER, ASX, MOVIELENS_SAMPLE, MAHINDAS_SAMPLE, INFECT_DUBLIN, BUS_AS_STORED, BITCOIN_SAMPLE)
)

TABLE_2 = Table(
    2,
    "Real graphs",
    ("u", "u_symmetric", "weights", "degree", "added", "seconds"),
    OURS,
    (
        Row(
            "Company Ownership (3,000 / 3,900)",
            ULTIMATE,
            {"klone": (0.010, 0.791, 0.472, 3.728, 200.0), "kguard": (0.010, 0.492, 0.396, 2.324, 34.2)},
            {**COMPANIES, **LARGE_COMPANIES},
            (3_000, 3_900),
        ),
        Row(
            "MovieLens small (2,100 / 3,200)",
            REACH,
            {"klone": (0.000, 0.912, 0.415, 4.213, 200.2), "kguard": (0.000, 0.176, 0.210, 0.328, 2.0)},
            {**MOVIES, "all ratings": MOVIELENS},
            (2_100, 3_200),
        ),
        Row(
            "Econ-Mahindas (1,200 / 3,300)",
            REACH,
            {"klone": (0.000, 0.765, 0.380, 4.544, 200.0), "kguard": (0.000, 0.316, 0.341, 2.297, 8.4)},
            {**ENTRIES, "all entries": MAHINDAS},
            (1_200, 3_300),
        ),
        Row(
            "Infect-Dublin (400 / 2,800)",
            REACH,
            {"klone": (0.000, 0.731, None, 6.509, 201.4), "kguard": (0.000, 0.187, None, 3.829, 0.0)},
            CONTACTS,
            (400, 2_800),
        ),
        Row(
            "Power-1138-Bus (1,100 / 2,600)",
            REACH,
            {"klone": (0.000, 0.875, 0.200, 3.880, 200.1), "kguard": (0.000, 0.280, 0.156, 0.650, 0.3)},
            LINES,
            (1_100, 2_600),
        ),
        Row(
            "Bitcoin Alpha (1,700 / 3,100)",
            REACH,
            {"klone": (0.000, 0.871, 0.355, 4.117, 200.1), "kguard": (0.000, 0.364, 0.297, 0.874, 6.1)},
            {**TRUST, "all ratings": BITCOIN},
            (1_700, 3_100),
        ),
    ),
    literal=True,
)


def _protected(
    title: str, rules: str, k_iso: float, readings: Mapping[str, Graph], size: tuple[int, int | None]
) -> Row:
    paper = {"k-iso": (k_iso, k_iso, None), "klone": (1.0, None, None), "kguard": (1.0, None, None)}
    return Row(title, rules, paper, readings, size)


POWER_LAW: Mapping[int, Mapping[str, Graph]] = {
    n: {f"α = {alpha}": scale_free(n, alpha) for alpha in (5, 3)} for n in (100, 500)
}
ALL_ENTRIES: Mapping[str, Graph] = {**ENTRIES, "all entries": MAHINDAS}
TABLE_3 = Table(
    3,
    "Share of subgraphs that are protected",
    ("delta", "alike", "deleted", "seconds"),
    (K_ISO, *OURS),
    (
        _protected("reach: PowerLaw-100", REACH, 0.795, POWER_LAW[100], (100, None)),
        _protected("reach: PowerLaw-500", REACH, 0.873, POWER_LAW[500], (500, None)),
        _protected(
            "reach: MovieLens small",
            REACH,
            0.818,
            {**MOVIES, "first 3,200 ratings": MOVIELENS_FIRST},
            (2_100, 3_200),
        ),
        _protected("reach: Econ-Mahindas", REACH, 0.923, ALL_ENTRIES, (1_200, 3_300)),
        _protected("reach: Infect-Dublin", REACH, 1.000, CONTACTS, (400, 2_800)),
        _protected("reach: Power-1138-Bus", REACH, 0.723, {**LINES, "both directions": BUS}, (1_100, 2_600)),
        _protected("reach: Bitcoin Alpha", REACH, 0.605, {**TRUST, "all ratings": BITCOIN}, (1_700, 3_100)),
        _protected("control: PowerLaw-100", CONTROL, 0.720, POWER_LAW[100], (100, None)),
        _protected("control: PowerLaw-500", CONTROL, 0.728, POWER_LAW[500], (500, None)),
        _protected("control: Company Ownership", CONTROL, 0.680, COMPANIES, (3_000, 3_900)),
        _protected("ultimate: PowerLaw-100", ULTIMATE, 0.673, POWER_LAW[100], (100, None)),
        _protected("ultimate: PowerLaw-500", ULTIMATE, 0.805, POWER_LAW[500], (500, None)),
        _protected("ultimate: Company Ownership", ULTIMATE, 0.710, COMPANIES, (3_000, 3_900)),
    ),
)
TABLES = (TABLE_1, TABLE_2, TABLE_3)


def sections(scale: Scale) -> list[str]:
    """Names of the figures and tables."""
    return [f"Figure {figure.number}" for figure in figures(scale)] + [f"Table {t.number}" for t in TABLES]


def settings(scale: Scale, only: Collection[str] = ()) -> list[Setting]:
    """All that is run, each once; `only` for some sections."""
    only = only or sections(scale)
    found = [
        s
        for figure in figures(scale)
        if f"Figure {figure.number}" in only
        for sweep in figure.sweeps
        for line in sweep.lines.values()
        for s in line.values()
    ]
    for table in TABLES:
        if f"Table {table.number}" not in only:
            continue
        for row, reading, graph in table.taken(scale):
            found += [Setting(graph, row.rules, method) for method in row.methods(table, reading)]
    if "Table 1" in only and scale.takes(erdos_renyi(N)):  # for a statement on times
        found += [Setting(erdos_renyi(N), REACH, method) for method in OURS]
    return list(dict.fromkeys(found))
