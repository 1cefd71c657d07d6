"""Lines of the comparison of reasoners: programs, inputs, known sizes of results, and figures to compare with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program on an input.

    Attributes
    ----------
    program, input
        Their names; the program derives the binary relation of its name.
    size
        Number of its rows, of which several engines are agreed.
    target
        Seconds that kgreason is to need, or nothing.
    quoted
        Seconds of compiled Soufflé on another machine with 1 / 2 threads, its compilation of about 20 s left out.
    quick
        Whether it is a line of ``--quick``.
    """

    program: str
    input: str
    size: int
    target: float | None = None
    quoted: str = "–"
    quick: bool = False

    def __str__(self) -> str:
        return f"{self.program}/{self.input}"


CASES = (
    Case("reach", "er1k", 931_183, 0.8, "0.6 / 0.8", quick=True),
    Case("reach", "er2k", 3_812_261, 1.0, "3.0 / 3.1", quick=True),
    Case("reach", "sf10k_a5", 7_610_713, 1.2, "6.5 / 4.3"),
    Case("reach", "chain5k", 12_497_500, 2.5, "8.3"),
    Case("reach", "er5k", 24_137_559, 2.0, "23.0 / 13.7"),
    Case("reach", "er10k", 97_940_678, 5.0, "109"),
    Case("reach1", "chain20k", 19_999, 1.0, "0.03", quick=True),
    Case("control", "comp1k", 9_461),
    Case("control", "comp10k", 104_642, 0.8, "0.35", quick=True),
    Case("control", "comp100k", 1_094_816, 1.2, "6.5 / 4.7"),
    Case("control", "sf1m_a2.5", 3_108_796, 4.0, "12.8 / 9.3 (hand-made shortcut)"),
    Case("control", "comp1m", 11_753_911, 6.0, "113"),
    Case("ultimate", "comp100k", 87_141, 1.4, "5.9"),
    Case("ultimate", "comp1m", 878_450, 7.0, "113"),
    Case("samegen", "sg2k", 115_376),
    Case("samegen", "sg10k", 1_659_140, 0.9, "0.94 / 0.62", quick=True),
    Case("pointsto", "pt5k", 152_862, 0.8, "0.4", quick=True),
    Case("pointsto", "pt20k", 1_254_258, 2.0, "5.0 / 2.7"),
)
