"""The vocabulary of kgreason in RDF, and the facts that are written in it (docs/data.md, RDF).

An edge with a weight, or a fact of three or more arguments, is a node of its own, of the class of its predicate.
"""

from __future__ import annotations

import re
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.rdfterms import Names, Terms

BASE = "urn:kgreason:"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ENDS = ("source", "target", "weight")
_ARGUMENT = re.compile(r"arg([1-9][0-9]*)", re.ASCII)


class Scattered(Exception):
    """The triples of a fact do not follow each other."""


def place_of(iri: str, base: str | None) -> str | None:
    """Place of the arguments that a property names; `None`: it names none.

    Examples
    --------
    >>> place_of("urn:kgreason:weight", None), place_of("http://x/arg2", "http://x/"), place_of("http://x/a", None)
    ('weight', 'arg2', None)
    """
    for start in {BASE, base or BASE}:
        name = iri[len(start) :] if iri.startswith(start) else ""
        if name in ENDS or _ARGUMENT.fullmatch(name):
            return name
    return None


class Nodes:
    """Facts of a class, put together from the triples of their nodes, and the members that have no arguments.

    The triples of a node follow each other in most files, so one node at a time is held; where they do not, reading
    begins anew and holds all nodes (`scattered`).
    """

    def __init__(self, file: str, names: Names, *, scattered: bool) -> None:
        self._file, self._scattered = file, scattered
        self._names = names
        self._at: Any = None
        self._node: dict[str, Any] = {}
        self._member = self._other = False
        self._places: tuple[str, ...] = ()
        self._columns: dict[str, Terms] = {}
        self._nodes: dict[Any, tuple[dict[str, Any], bool]] = {}
        self.members = Terms(names)
        self.facts = 0

    def of(self, subject: Any) -> None:
        """Say whose triple comes next."""
        if subject != self._at:
            self.flush()
            self._at = subject

    def member(self, wanted: bool) -> None:
        """The node is of the class, or of another one."""
        self._member |= wanted
        self._other |= not wanted

    def argument(self, place: str, value: Any) -> None:
        """The node has an argument.

        Raises
        ------
        DataError
            If it has another one in that place.
        """
        if self._node.setdefault(place, value) != value:
            raise self._error(f"the fact {self._at} has two values as {place}", "one fact is one node")

    def flush(self) -> None:
        """The triples of the node are over, for now."""
        if self._at is None:
            return
        node, member, other = self._node, self._member, self._other
        self._node, self._member, self._other = {}, False, False
        if self._scattered:
            known, before = self._nodes.setdefault(self._at, ({}, False)) if node or member else ({}, False)
            if node or member:
                if any(known.get(place, value) != value for place, value in node.items()):
                    raise self._error(
                        f"the fact {self._at} has two values in one place", "one fact is one node"
                    )
                known.update(node)
                self._nodes[self._at] = known, before or member
        elif member and not node:
            self._alone()
        elif member:
            self._fact(node)
        elif node and not other:
            raise Scattered

    def _alone(self) -> None:
        if self.facts:
            raise Scattered
        self.members.add(self._at)

    def _fact(self, node: dict[str, Any]) -> None:
        places = tuple(p for p in ENDS if p in node) or tuple(sorted(node, key=lambda p: int(p[3:])))
        if not self._places:
            self._places = places
            self._columns = {place: Terms(self._names) for place in places}
        if places != self._places or len(places) != len(node) or len(self.members):
            if not self._scattered:
                raise Scattered
            raise self._error(
                f"the fact {self._at} has {', '.join(sorted(node)) or 'no arguments'}, "
                f"others have {', '.join(self._places)}",
                "give each the same arguments, or take the node out",
            )
        for place, column in self._columns.items():
            column.add(node[place])
        self.facts += 1

    def end(self) -> dict[str, Terms]:
        """All triples are read: columns by place.

        Raises
        ------
        Scattered
            If the file has to be read anew.
        DataError
            If a fact lacks an argument that others have.
        """
        self.flush()
        wanted = [(at, node) for at, (node, member) in self._nodes.items() if member]
        whole = any(node for _, node in wanted)
        for self._at, node in wanted:
            if whole:
                self._fact(node)
            else:
                self.members.add(self._at)
        expected = ENDS[: len(self._places)] if self._places[:1] == ("source",) else self._numbered()
        if self._places != expected:
            missing = next(p for p in expected if p not in self._places)
            if not self._scattered:
                raise Scattered
            raise self._error(
                f"facts have {', '.join(self._places)}, but no {missing}", "number them from arg1 on"
            )
        return self._columns

    def _numbered(self) -> tuple[str, ...]:
        if self._places and self._places[0] in ENDS:
            return ("source", "target")
        return tuple(f"arg{i + 1}" for i in range(len(self._places)))

    def _error(self, message: str, hint: str) -> DataError:
        return DataError(self._file, message, hint=hint)
