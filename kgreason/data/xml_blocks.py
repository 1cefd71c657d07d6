"""XML files, parsed block by block."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from kgreason.data.raw import open_bytes, read_block
from kgreason.errors import DataError

_BLOCK = 1 << 20  # bytes; expat keeps what it has not yet taken in
_LONGEST = 1 << 25  # bytes of a tag: expat begins it anew with each block
_BUILT_IN = frozenset({"utf-8", "utf-16", "iso-8859-1", "us-ascii"})
_ZIP = b"PK\x03\x04"


def parse(path: Path, parser: expat.XMLParserType, hint: str) -> None:
    """Parse a file whose elements the handlers of a parser take in; entities may not be defined.

    Parameters
    ----------
    hint
        What to do about a file that is not well-formed.

    Raises
    ------
    DataError
        If it is not well-formed, or of an encoding that expat does not read.
    """
    file = str(path)

    def refuse_entity(name: str, *_: object) -> None:  # they nest to any size, and no program writes any
        hint = "write its text where the file names it"
        raise DataError(file, f"the file defines an entity {name!r}", parser.CurrentLineNumber, hint=hint)

    parser.EntityDeclHandler = refuse_entity
    parser.XmlDeclHandler = lambda _, encoding, __: _check_encoding(file, encoding)
    with open_bytes(path) as stream:
        try:
            while block := read_block(path, stream, _BLOCK):
                if block.startswith(_ZIP):
                    raise DataError(file, "this is a zip file", hint="unpack it first")
                parser.Parse(block, False)
                if stream.tell() - parser.CurrentByteIndex > _LONGEST:  # of which a block is still to come
                    raise DataError(
                        file,
                        "no well-formed XML: a tag is longer than 16 MB",
                        hint="is a quotation mark left open?",
                    )
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DataError(
                file, f"no well-formed XML: {expat.ErrorString(error.code)}", error.lineno, hint=hint
            ) from error


def _check_encoding(file: str, encoding: str | None) -> None:
    """Refuse what is neither built into expat nor has one byte for each letter."""
    if encoding is None or encoding.lower() in _BUILT_IN:
        return
    try:
        letters = len(bytes(range(256)).decode(encoding, "replace"))
    except (LookupError, ValueError):  # unknown, no encoding of texts, or no name of one
        letters = 0
    if letters != 256:
        raise DataError(
            file,
            f"the file declares the encoding {encoding!r}, which is not read",
            1,
            hint='save it as UTF-8, and declare that: <?xml version="1.0" encoding="UTF-8"?>',
        )
