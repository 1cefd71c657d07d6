"""First lines of files of triples that may be names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.graph.io.raw import Column, Raw
from kgreason.progress import Progress

_TITLES = {
    "user": {"user", "source", "head", "subject", "from", "person", "id"},
    "relation": {"relation", "attribute", "predicate", "property", "type", "edge"},
    "target": {"target", "value", "tail", "object", "to"},
}
_NUMBER = r"^\s*[+-]?[0-9]+([.,][0-9]+)?\s*$"
_FEWEST = 4  # lines below the first that it is compared with
_MOSTLY = 0.5  # share of the other names that occur more than once, where a name that does not is unlike them


def check_first(
    raw: Raw, found: Mapping[str, Column], missing: Sequence[str], progress: Progress, *, behind: bool
) -> None:
    """Refuse a first line of words such as user and value, and note one that is unlike all others.

    It is unlike them if it has words where the others of a column are all numbers, or if neither of its ends occurs
    again, which can be said of no other line, while most names do.

    Parameters
    ----------
    found
        Columns by role: user, target and perhaps relation.
    missing
        Texts that stand for no value.
    behind
        Whether options stand behind the name of the file, not in a schema.

    Raises
    ------
    DataError
        If all words of the first line are usual names of columns.
    """
    cells = {role: column[0].as_py().strip() for role, column in found.items()}
    say = "header=true behind the name of the file" if behind else "header = true"
    shown = ", ".join(cells.values())
    if all(cell.lower() in _TITLES[role] for role, cell in cells.items()):
        what = f"the first line ({shown}) looks like names of columns"
        raise raw.error(0, what, hint=f"say {say}")
    if raw.named or len(found["user"]) <= _FEWEST or {"", *missing} & set(cells.values()):
        return
    if _words_above_numbers(found) or _alone(found):
        line = raw.line(0)
        place = raw.file if line is None else f"{raw.file}:{line}"
        progress.note(
            f"{place}: the first line ({shown}) is unlike the others, and is taken for data. If it holds names of "
            f"columns, say {say}"
        )


def _words_above_numbers(found: Mapping[str, Column]) -> bool:
    import pyarrow.compute as pc

    number = [
        pc.match_substring_regex(found[role], _NUMBER).to_numpy(zero_copy_only=False)
        for role in ("user", "target")
    ]
    return not any(each[0] for each in number) and any(each[1:].all() for each in number)


def _alone(found: Mapping[str, Column]) -> bool:
    """Whether the ends of the first line, and its relation, occur once, and those of no other line do."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for role, cell in ((role, column[0]) for role, column in found.items()):
        columns = [found["relation"]] if role == "relation" else [found["user"], found["target"]]
        if sum(pc.sum(pc.equal(column, cell)).as_py() for column in columns) != 1:
            return False
    coded = pa.concat_arrays([found["user"], found["target"]]).dictionary_encode()
    codes = coded.indices.to_numpy()
    times = np.bincount(codes)
    once = (times[codes] == 1).reshape(2, -1).all(axis=0)
    others = len(times) - 2
    return bool(not once[1:].any() and (times > 1).sum() > _MOSTLY * others)
