"""Syntax trees kept between runs.

To parse a small rule file takes 45 ms of processor time, most of it for the import of lark, the tables of the grammar
and the regular expression of its tokens; its tree is loaded in 1 ms. A text replaces another one of its file, of which
there are 64. Texts with errors, with facts, which may be private, and long ones are parsed in each run.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Container, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.base import caches, errors, records
from kgreason.base.resources import resource
from kgreason.language import values

if TYPE_CHECKING:
    from kgreason.base.errors import Diagnostic
    from kgreason.language.syntax.syntax_tree import Constant, Program

_FILES = 64
_LONGEST = 1 << 16  # characters


def read(
    text: str, file: str, shared: Mapping[str, Constant] | None = None, outer: Container[str] = ()
) -> tuple[Program, tuple[Diagnostic, ...]]:
    """Parse a text as `kgreason.language.syntax.parser.read`, or load its tree from the cache."""
    key = hashlib.sha256(repr((_sources(), file, text)).encode("utf-8", "surrogatepass")).digest()
    name = f"{key[0] % _FILES}.tree"
    usual = not shared and not outer and len(text) <= _LONGEST
    kept = caches.read(name, __file__) if usual else None
    if kept is not None and kept.startswith(key):
        return pickle.loads(kept[len(key) :]), ()

    from kgreason.language.syntax import parser  # imports lark

    found = parser.read(text, file, shared, outer)
    program, errors = found
    if usual and not errors and not any(program.facts):
        caches.write(name, __file__, key + pickle.dumps(program), mode=0o600)
    return found


@cache
def _sources() -> tuple[object, ...]:
    """Version of Python and of the files on which trees depend."""
    grammar = resource("grammars", "vadalog.lark")
    others = map(Path, (errors.__file__, records.__file__, values.__file__))
    found = (path.stat() for path in chain([grammar], others, sorted(Path(__file__).parent.glob("*.py"))))
    return sys.version, *((each.st_size, each.st_mtime_ns) for each in found)
