"""Graphs of people, beside the figures of their papers: ``python benchmarks/attribute_kg.py DATA [part...]``.

DATA is the folder of public graphs; parts are ``quality`` (Tables 2 and 3 of PCKGA), ``time`` (distances, and the whole
of PCKGA), ``degrees`` (Paired k-degree on DBLP) and ``large`` (50,000 users); by default all. Every release is verified.

AIL and RRU of the papers are those of graphs that do not always satisfy p-k-ad. ``attributes`` is the part of our AIL
that attributes alone cause, as all that is lost in degrees is less than 1e-5 of it.
"""

from __future__ import annotations

import gzip
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

SETTINGS = ("te_2-5-1", "te_5-50-5", "zipf_2-5-1-2", "zipf_5-50-5-2")
TABLE_2 = {  # VAC alone: AIL, RRU
    "freebase": ((0.0013, 0.0006), (0.0137, 0.0040), (0.0018, 0.0005), (0.0168, 0.0040)),
    "yago": ((0.0005, 0.0001), (0.0022, 0.0008), (0.0008, 0.0001), (0.0070, 0.0025)),
}
TAUS = (0.0, 0.25, 0.5, 0.75, 1.0)
TABLE_3 = {  # VAC and Merge-Split for zipf 5-50-5, by tau: AIL, RRU
    "freebase": ((0.0168, 0.0040), (0.0087, 0.0), (0.0087, 0.0), (0.0087, 0.0), (0.0087, 0.0)),
    "yago": ((0.0070, 0.0025), (0.0051, 0.0003), (0.0049, 0.0001), (0.0048, 0.0), (0.0048, 0.0)),
}
TABLE_4 = {"freebase": (150.14, 32.81), "yago": (523.93, 98.28)}  # seconds of VAC and MS on 128 cores
DBLP = (776, 2_000, 3_439, 3_935, 4_754, 5_365, 6_396, 7_646, 8_048)  # edges that CTKGA adds, k = 2 .. 10
