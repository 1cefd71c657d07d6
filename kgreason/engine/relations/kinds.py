"""Kinds of columns: which values a column holds, and how they are coded."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """Type of a column. The data of every kind is an int64 array, so that kernels see one type.

    INT holds the integer, DOUBLE the bit pattern of the double (never that of -0.0 or NaN), STRING the code
    of the string in the table's `Symbols`, BOOL 0 or 1, DATE microseconds since 1970-01-01, SET and LIST the code
    of the collection in the `Symbols`.

    ANY is for columns that can hold labelled nulls, alone or beside values of any type: codes of values in
    the `Symbols`. There a string has the same code as in a STRING column. While rules are at work, a double that
    equals an integer has the code of the integer; in data and results, each has its own.
    """

    INT = 0
    DOUBLE = 1
    STRING = 2
    BOOL = 3
    DATE = 4
    SET = 5
    LIST = 6
    ANY = 7
