"""Kinds of columns: their values and coding."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """Kind of a column. Data of every kind are int64 arrays, so that kernels handle a single type.

    INT holds the integer, DOUBLE the bit pattern of the double (never that of -0.0 or NaN), STRING the code
    of the string in the table's `Symbols`, BOOL 0 or 1, DATE microseconds since 1970-01-01, SET and LIST the
    code of the collection in the `Symbols`.

    ANY is for columns that can hold labelled nulls or values of mixed types: codes of values in
    the `Symbols`. A string has the same code as in a STRING column. During evaluation, a double that
    equals an integer has the code of the integer; in data and results they have different codes.
    """

    INT = 0
    DOUBLE = 1
    STRING = 2
    BOOL = 3
    DATE = 4
    SET = 5
    LIST = 6
    ANY = 7
