"""Writes own.csv: an invented register of companies and their owners. ``python examples/ownership/make.py``.

All names are invented. The register imitates what was measured in two public registers, the largest shareholders of
669 companies of the Singapore exchange (SGX) and of 188 companies of the ASX 200, and in a public list of French media
and their owners (*Médias français, qui possède quoi*):

- Lists: a company of SGX has 1 to 9 holders of 5 % or more, in the median 3, and one of ASX up to 7. Here: 2 to 6.
- Shares: the median of the r-th largest share of SGX is near 39 r^-1.65 %: 35, 12, 7 and 3 % for r = 1, 2, 3, 5. 30 %
  of the companies of SGX, and 5 % of ASX, have a majority owner.
- Owners: 92 % (SGX) and 87 % (ASX) of the holders of 5 % or more hold that much of one company only. A few, such as
  nominees, hold it of many: up to 210 (SGX) and 149 (ASX). Here the 50 nominees have fewer stakes each.
- Groups: chains of majority owners have up to two edges (SGX) and four (media). 93 % of the media with owners have
  one; 78 % of all stakes in media are 100 %. Here: subsidiaries of listed companies, held whole.
- Small components beside the largest: 150 (SGX) and 8 (ASX) with holders of 5 % or more. Here: 60.

Not imitated: the one pair of companies of SGX that own each other, and companies that own small parts of others.
"""

from __future__ import annotations

# ruff: noqa: SIM905 - one word a line would take 200 lines
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

SEED = 20
LISTED, NOMINEES, SUBSIDIARIES, ALONE = 800, 50, 60, 8
WHOLE = 10_000  # all shares of a company, in hundredths of a per cent

ROOTS = (
    "Adria Alder Anchor Ardea Aurora Birch Borea Brenta Calanca Cedar Corvo Drift Elba Ember Falco Ferro Fjord Garnet"
    " Gavia Heron Iris Isarco Juniper Kestrel Laguna Larch Luna Maple Mistral Nettle Oglio Osprey Pine Quartz Rovere"
    " Salvia Sesia Tamaro Ticino Vela"
).split()
FIELDS = (
    "Agri Ceramics Chemicals Energy Estates Foods Freight Glass Holding Hotels Labs Logistics Marine Media Mining"
    " Motors Paper Pharma Ports Rail Retail Steel Telecom Textiles Timber Water"
).split()
NOMINEE = ("Bank", "Fund", "Nominees")
FIRST = (
    "Ada Agnes Alba Amos Anna Aldo Bice Bruno Carla Carlo Clara Dario Diana Edda Elio Elsa Emma Enzo Ettore Eva Fabio"
    " Flora Franco Gaia Gino Greta Guido Hugo Ida Ines Irene Ivo Jonas Karin Lea Leo Livia Luca Lucy Mara Marco Mario"
    " Marta Nadia Nils Nora Olga Oscar Paolo Piero Rita Rosa Ruth Sara Silvio Tea Tito Ugo Vera Vito"
).split()
LAST = (
    "Abate Amsel Arena Barlow Bassi Berti Brandt Bruni Caruso Conti Cook Costa Dahl Dale Denti Egger Ellis Fabbri"
    " Ferri Field Fonti Galli Garner Gatti Grau Hale Holm Hunt Ivers Jansen Kent Lane Leone Loft Longo Mancini Marsh"
    " Moro Nash Neri Orsi Palmer Parisi Pini Quinn Reed Ricci Riva Rossetti Sala Serra Shaw Swift Testa Thorn Valli"
    " Verdi Wells Wood Zani"
).split()

Stakes = dict[tuple[str, str], int]  # hundredths of a per cent, by owner and company
Draw = Callable[[], str]


def names(*parts: list[str] | tuple[str, ...], rng: np.random.Generator) -> Draw:
    """Draw names of these parts, none twice."""
    return iter(rng.permutation([" ".join(words) for words in product(*parts)]).tolist()).__next__


def holders(new: Draw, rng: np.random.Generator) -> Draw:
    """Draw persons: a new one, or the owner of a random earlier stake."""
    owners: list[str] = []

    def draw() -> str:
        owners.append(new() if not owners or rng.random() < 0.85 else owners[rng.integers(len(owners))])
        return owners[-1]

    return draw


def shareholders(
    company: str, nominees: list[str], person: Draw, stakes: Stakes, rng: np.random.Generator
) -> None:
    """List the largest shareholders of a company: nominees, who are on many lists, and persons."""
    rank = np.arange(1, rng.integers(3, 8))
    share = 3_900 * rank**-1.65 * rng.lognormal(0, 0.6, len(rank))
    share *= min(1, 0.99 * WHOLE / share.sum())
    popular = 1 / np.arange(1, len(nominees) + 1) ** 0.3
    listed = iter(rng.choice(nominees, len(rank), replace=False, p=popular / popular.sum()).tolist())
    for part in np.maximum(share.astype(int), 1).tolist():
        owner = next(listed) if rng.random() < 0.45 else person()
        stakes.setdefault((owner, company), part)


def register(rng: np.random.Generator) -> Stakes:
    """Draw the stakes of the register."""
    company, person = names(ROOTS, FIELDS, rng=rng), holders(names(FIRST, LAST, rng=rng), rng)
    nominee = names(ROOTS, NOMINEE, rng=rng)
    nominees = [nominee() for _ in range(NOMINEES)]
    listed = [company() for _ in range(LISTED)]
    stakes: Stakes = {}
    for name in listed:
        shareholders(name, nominees, person, stakes, rng)
    owners = listed[::3]
    for _ in range(SUBSIDIARIES):
        owners.append(owners[rng.integers(len(owners))])  # who has subsidiaries gets more
        stakes[owners[-1], company()] = WHOLE
    for _ in range(ALONE):
        stakes[company(), company()] = WHOLE
    return stakes


def main() -> None:
    """Write the table beside this file."""
    stakes = register(np.random.default_rng(SEED))
    rows = sorted(f"{owner},{company},{share / 100:.2f}%\n" for (owner, company), share in stakes.items())
    table = "owner,company,share\n" + "".join(rows)
    (Path(__file__).parent / "own.csv").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
