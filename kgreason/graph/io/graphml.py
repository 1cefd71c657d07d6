"""GraphML: XML with nodes and edges; ids are the key.

References
----------
U. Brandes, M. Eiglsperger, J. Lerner, C. Pich: Graph Markup Language (GraphML), 2013.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from kgreason.errors import DataError
from kgreason.graph.io.graphparts import Parts
from kgreason.graph.io.naming import named
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.xmlparse import parse


def read_graphml(path: Path, options: Options) -> Raw:
    """Read a GraphML graph; the weight is the edge key named ``weight`` or else ``value``.

    All other data of vertices and edges are columns that `columns` can choose by name. The encoding is what the
    XML declaration says.
    """
    reader = _Reader(str(path))
    parse(
        path,
        reader.parser,
        "is the file cut off, or changed by hand? write it anew with the program that made it",
    )
    return named(reader.parts.raw(undirected_by_default=reader.undirected), options, usual=False)


class _Reader:
    """Follows the elements of one file."""

    def __init__(self, file: str) -> None:
        self.parts = Parts(file)
        self.undirected = False
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse_entity
        self._keys: dict[str, tuple[str, str]] = {}
        self._defaults: dict[tuple[str, str], str] = {}
        self._element: dict[str, str] = {}
        self._data: dict[str, str] = {}
        self._open: list[str] | None = None
        self._key = ""
        self._line = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "graph":
            self.undirected = attributes.get("edgedefault") == "undirected"
        elif tag == "key":
            self._key = self._get(attributes, "id", tag)
            domain = attributes.get("for", "all")
            title = attributes.get("attr.name", self._key)
            self._keys[self._key] = (domain, title)
            for of in ("node", "edge") if domain in ("all", "graph") else (domain,):
                if "attr.type" in attributes:
                    self.parts.types[of, title] = attributes["attr.type"]
        elif tag in ("node", "edge"):
            self._element, self._data, self._line = attributes, {}, self.parser.CurrentLineNumber
        elif tag in ("data", "default"):
            self._open = []
            self._key = attributes.get("key", self._key)
        elif tag == "hyperedge":
            raise DataError(
                self.parts.file,
                "hyperedges are no edges",
                self.parser.CurrentLineNumber,
                hint="write each as edges between pairs of its vertices",
            )

    def _refuse_entity(self, name: str, *_: object) -> None:
        """Refuse definitions of entities: they can be nested to any size, and no program writes any."""
        raise DataError(
            self.parts.file,
            f"the file defines an entity {name!r}",
            self.parser.CurrentLineNumber,
            hint="write its text where the file names it",
        )

    def _text(self, text: str) -> None:
        if self._open is not None:
            self._open.append(text)

    def _end(self, name: str) -> None:
        tag = name.rpartition(" ")[2]
        if tag in ("data", "default") and self._open is not None:
            domain, title = self._keys.get(self._key, ("all", self._key))
            if tag == "data":
                self._data[title] = "".join(self._open)
            else:
                self._defaults[domain, title] = "".join(self._open)
            self._open = None
        elif tag == "node":
            name = self._get(self._element, "id", tag)
            self.parts.vertex(name, self._data.get("label", ""), self._line, self._all("node"))
        elif tag == "edge":
            directed = self._element.get("directed")
            self.parts.edge(
                self._get(self._element, "source", tag),
                self._get(self._element, "target", tag),
                self._weight(),
                self._line,
                undirected=None if directed is None else directed == "false",
                data=self._all("edge"),
            )

    def _all(self, tag: str) -> dict[str, str]:
        """Data of a vertex or edge, with the defaults of its keys."""
        usual = {title: text for (domain, title), text in self._defaults.items() if domain in (tag, "all")}
        return usual | self._data

    def _weight(self) -> str | None:
        for title in ("weight", "value"):
            given = self._data.get(
                title, self._defaults.get(("edge", title), self._defaults.get(("all", title)))
            )
            if given is not None:
                return given
        return None

    def _get(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name not in attributes:
            raise DataError(
                self.parts.file,
                f"a {tag} without {name}",
                self.parser.CurrentLineNumber,
                hint="GraphML needs it: write the file anew with the program that made it",
            )
        return attributes[name]
