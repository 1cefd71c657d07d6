"""Ways to damage a file."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[bytes, Random], bytes]

_DIGITS = re.compile(rb"[0-9]+")
_WORDS = re.compile(rb"\w+|\s+|[^\w\s]")
_DECLARED = re.compile(rb"""encoding=["'][\w-]*["']""")
_ENCODINGS = (b"klingon", b"utf-7", b"idna", b"utf-16", b"cp037", b"hex", b"undefined", b"", b"shift_jis")
_NUMBERS = (
    *(
        b"9" * 4_400,
        b"1" + b"0" * 18,
        b"9223372036854775807",
        b"9223372036854775808",
        b"18446744073709551616",
    ),
    *(
        b"-1",
        b"0",
        b"00",
        b"1e400",
        b"-1e400",
        b"1e-400",
        b"0." + b"0" * 5_000 + b"1",
        b"nan",
        b"inf",
        b"-inf",
    ),
    *(
        b"1" + b"0" * 400,
        b"600000000",
        b"4294967296",
        b"2147483648",
        b"0x1F",
        b"1_000",
        b"1e18",
        b"+5",
        b"1.",
    ),
    *("٣".encode(), "²".encode(), b"99999-01-01", b"0000-00-00", b"2024-02-30", b"2024-01-15T25:61:61"),
)
_LETTERS = (
    *(
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\\ud800",
        b"\\udfff",
        b"\\u0000",
    ),
    *(
        b"&#xD800;",
        b"&#0;",
        b"&#1114112;",
        b"&#999999;",
        b"\x00",
        b"\x1a",
        b"\x0c",
        b"\x85",
        "\u2028".encode(),
    ),
    *(
        "\ufeff".encode(),
        "\U0001f600".encode(),
        "\u202e".encode(),
        b"\x1b[31m",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\t",
    ),
)
_MARKS = (
    b"[",
    b"(",
    b"{",
    b'{"a":',
    b"<a>",
    b'"',
    b"'",
    b"not ",
    b"-",
    b"!",
    b"&",
    b"%",
    b"*",
    b"\\",
    b",",
    b";",
)
LARGEST = 1_000_000
"""Bytes of a mutated file: lines of long lines, repeated, would take their time by their size alone."""
_TIMES = (100, 3_000, 100_000)


def _place(data: bytes, rng: Random) -> int:
    return rng.randrange(len(data) + 1)


def _put(data: bytes, at: int, new: bytes, instead: int = 0) -> bytes:
    return data[:at] + new + data[at + instead :]


def flip(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return _put(data, at, bytes([data[at] ^ (1 << rng.randrange(8))]), 1)


def overwrite(data: bytes, rng: Random) -> bytes:
    size = rng.choice((1, 1, 2, 4, 8, 64))
    new = rng.choice((rng.randbytes(size), b"\xff" * size, b"\x00" * size, b"\x7f" * size))
    return _put(data, _place(data, rng), new, size)


def cut(data: bytes, rng: Random) -> bytes:
    return data[: _place(data, rng)]


def behead(data: bytes, rng: Random) -> bytes:
    return data[_place(data, rng) :]


def remove(data: bytes, rng: Random) -> bytes:
    return _put(data, _place(data, rng), b"", rng.choice((1, 2, 8, 100)))


def double(data: bytes, rng: Random) -> bytes:
    at, size = _place(data, rng), rng.choice((1, 8, 100, 1_000))
    return _put(data, at, data[at : at + size] * rng.choice((1, 1, 2, 50)))


def number(data: bytes, rng: Random) -> bytes:
    found = list(_DIGITS.finditer(data))
    if not found:
        return letter(data, rng)
    old = rng.choice(found)
    return _put(data, old.start(), rng.choice(_NUMBERS), old.end() - old.start())


def letter(data: bytes, rng: Random) -> bytes:
    return _put(data, _place(data, rng), rng.choice(_LETTERS), rng.choice((0, 0, 1)))


def nest(data: bytes, rng: Random) -> bytes:
    mark, times = rng.choice(_MARKS), rng.choice(_TIMES)
    return _put(data, rng.choice((0, _place(data, rng), len(data))), mark * times)


def declare(data: bytes, rng: Random) -> bytes:
    """Say another encoding than that of the file."""
    name = rng.choice(_ENCODINGS)
    said = b'encoding="' + name + b'"'
    if found := _DECLARED.search(data):
        return _put(data, found.start(), said, found.end() - found.start())
    return b'<?xml version="1.0" ' + said + b"?>" + data


def recode(data: bytes, rng: Random) -> bytes:
    text = data.decode("utf-8", errors="replace")
    encoding = rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "latin-1", "cp037"))
    return text.encode(encoding, errors="replace")


def pack(data: bytes, rng: Random) -> bytes:
    """Pack with gzip, as a rule with damage, or damage what is packed already."""
    packed = data if data[:2] == b"\x1f\x8b" else gzip.compress(data, mtime=0)
    damage = rng.choice((flip, overwrite, cut, remove, double, _twice, _whole))
    return damage(packed, rng)


def repack(data: bytes, rng: Random) -> bytes:
    """Mutate what a gzip file holds."""
    try:
        plain = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return flip(data, rng)
    return gzip.compress(rng.choice(_ON_TEXT)(plain, rng), mtime=0)


def _twice(data: bytes, _: Random) -> bytes:
    return data * 2


def _whole(data: bytes, _: Random) -> bytes:
    return data


def swap_lines(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def drop_line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def repeat_line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at:at] = lines[at : at + 1] * rng.choice((1, 1, 3, 300))
    return b"\n".join(lines)


def words(data: bytes, rng: Random) -> bytes:
    """Delete, double, exchange or copy words."""
    found: list[bytes] = _WORDS.findall(data)
    if not found:
        return data
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j = rng.randrange(len(found)), rng.randrange(len(found))
        kind = rng.randrange(5)
        if kind == 0:
            found[i] = b""
        elif kind == 1:
            found[i] *= 2
        elif kind == 2:
            found[i], found[j] = found[j], found[i]
        elif kind == 3:
            found[i] = found[j]
        else:
            found[i] = rng.choice((*_NUMBERS, *_LETTERS, *_MARKS))
    return b"".join(found)


_ON_TEXT: Sequence[Mutation] = (
    *(words, words, words, number, number, number, letter, letter, swap_lines, drop_line, repeat_line),
    *(nest, declare, flip, overwrite, cut, behead, remove, double, recode),
)
_ON_BYTES: Sequence[Mutation] = (
    flip,
    flip,
    overwrite,
    overwrite,
    overwrite,
    cut,
    behead,
    remove,
    double,
    letter,
)


def mutate(data: bytes, rng: Random, *, binary: bool) -> bytes:
    """Damage a file in one way or a few; a damage that would make it larger than `LARGEST` is left out."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if data[:2] == b"\x1f\x8b" and rng.random() < 0.5:
            damage: Mutation = repack
        elif rng.random() < 0.05:
            damage = pack
        else:
            damage = rng.choice(_ON_BYTES if binary else _ON_TEXT)
        if len(damaged := damage(data, rng)) <= LARGEST:
            data = damaged
    return data
