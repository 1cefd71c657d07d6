"""``@include`` and ``@module``: collect the clauses of a rule file and of the files it includes."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from kgreason.base.errors import Diagnostic, Findings, Span
from kgreason.base.printable import hidden
from kgreason.base.resources import resource
from kgreason.language.check.expressions import grown
from kgreason.language.check.file_access import Reach, is_data
from kgreason.language.syntax.kept_trees import read
from kgreason.language.syntax.syntax_tree import Annotation, Clause, Constant, Program
from kgreason.language.vocabulary import meant

DEPTH = 50  # maximum length of a chain of includes


class Source(NamedTuple):
    """A program with the clauses of all its files: those of an included file stand after its ``@include``, once.

    Attributes
    ----------
    folders
        Base folder of relative paths, by the name of the file in spans.
    texts
        Texts of the files by name, in the order of first inclusion.
    whole
        Whether every file could be read, and every clause parsed as far as its predicates are concerned.
    """

    program: Program
    folders: Mapping[str, Path]
    texts: Mapping[str, str]
    whole: bool


@dataclass(eq=False, repr=False)
class _File:
    name: str
    folder: Path
    text: str
    program: Program
    syntax: tuple[Diagnostic, ...]
    included: dict[Span, Path] = field(default_factory=dict)  # by the position of the @include
    foreign: Span | None = None  # @include of a file without the suffix of rule files


def read_program(text: str, file: str, path: Path | None, reach: Reach, findings: Findings) -> Source:
    """Parse a text and all files that it includes; relative paths are relative to ``reach.folder``.

    Parameters
    ----------
    file
        Name of the text in spans.
    path
        Path of the text, if it was read from a file.
    """
    reader = _Reader(findings, reach)
    root = path.resolve() if path else Path("/", file)
    reader.add(root, file, reach.folder, text, [])
    return reader.source(root)


def _instead(path: str | Path) -> str | None:
    is_folder = os.path.isdir(path)  # False for invalid file names
    folder = Path(path) if is_folder else Path(path).parent
    if not folder.is_dir():
        return hidden(f"there is no folder {folder}")
    there = sorted(p.name for p in folder.iterdir() if p.suffix == ".vada")
    if is_folder and there:
        return f"it is a folder; name a rule file in it, such as {folder / there[0]}"
    if not there:
        return "the folder holds no rule files (.vada)"
    listed = f"the folder holds {', '.join(there[:5])}{', ...' * (len(there) > 5)}"
    return meant(Path(path).name, there, "{}") or listed


def read_text(path: str | Path) -> tuple[str, Diagnostic | None]:
    """Read a rule file; if that fails, return the error."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return "", Diagnostic("E007", hidden(f"cannot read {path}: {reason}"), hint=_instead(path))
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", Diagnostic(
            "E008",
            f"{path}: line {line} is not UTF-8 text (byte 0x{data[error.start]:02x})",
            note="rule files are UTF-8",
            hint="save the file as UTF-8",
        )


class _Reader:
    """Files read so far, without duplicates, by resolved path in reading order."""

    def __init__(self, findings: Findings, reach: Reach) -> None:
        self.findings, self.reach = findings, reach
        self.whole = True  # as long as every include succeeds
        self.files: dict[Path, _File] = {}

    def add(self, path: Path, name: str, folder: Path, text: str, chain: list[tuple[Path, Span]]) -> None:
        """Parse a file and read those that it includes; `chain` holds the includes that led to it."""
        file = self.files[path] = _File(name, folder, text, *read(text, name))
        if not file.program.clauses and not file.syntax:
            include = chain[-1][1] if chain else None
            self.findings.add("E009", f"{name} holds no fact, no rule and no annotation", include)
        for clause in file.program.clauses:
            if isinstance(clause, Annotation) and clause.name == "include":
                included = self._include(clause, path, chain)
                if included is None:
                    self.whole = False
                else:
                    file.included[clause.span] = included

    def _include(self, clause: Annotation, path: Path, chain: list[tuple[Path, Span]]) -> Path | None:
        wanted = clause.arguments[0].value if len(clause.arguments) == 1 else None
        if not isinstance(wanted, str):
            return None  # reported with the other annotations
        here = self.files[path]
        found = _find_file(wanted, here.folder)
        if found is None:
            self.findings.add(
                "E321",
                f"@include: there is no rule file {wanted[:100]!r}",
                clause.arguments[0].span,
                note="an include names a file relative to the one that includes it, a module declared by @module "
                "in the same folder, or a file of the rule library",
                hint=meant(wanted.removesuffix(".vada"), _names(here.folder)),
            )
            return None
        source, shown = found
        if not self.reach.check_include(source, clause.span, self.findings):
            return None
        target = source.resolve()
        here_chain = [*chain, (path, clause.span)]
        if any(target == p for p, _ in here_chain):
            self._circle(target, here_chain)
            return None
        if target in self.files:
            return target
        if len(here_chain) > DEPTH:
            self.findings.add("E323", f"more than {DEPTH} files include each other in a chain", clause.span)
            return None
        text, problem = read_text(source)
        if problem:
            message = problem.message.replace(str(source), shown)
            self.findings.add("E322", f"@include: {message}", clause.span, problem.note, problem.hint)
            return None
        taken = {f.name for f in self.files.values()}
        self.add(target, str(target) if shown in taken else shown, source.parent, text, here_chain)
        if source.suffix != ".vada":
            self.files[target].foreign = clause.span
        return target

    def _circle(self, target: Path, chain: list[tuple[Path, Span]]) -> None:
        start = next(i for i, (path, _) in enumerate(chain) if path == target)
        circle = chain[start:]
        names = [os.path.basename(self.files[p].name) for p, _ in circle]
        steps = zip(circle, pairwise(names), strict=False)
        related = [(span, f"{name} includes {other}") for (_, span), (name, other) in steps]
        self.findings.add(
            "E320",
            f"{names[0]} includes itself" + (f" by way of {', '.join(names[1:])}" if names[1:] else ""),
            circle[-1][1],
            note="includes form no circle; a file that is included several times counts once",
            hint="take this @include out, or move what both files need into a third one",
            related=tuple(related),
        )

    def _no_rules(self, file: _File, span: Span) -> None:
        """Report that a file cannot be parsed, without showing its content, which may be secret."""
        line = next((d.span.line for d in file.syntax if d.span), 1)
        wrong = f": line {line} is no Vadalog"
        hint = "include a rule file; give it a name that ends in .vada to see what is wrong"
        if is_data(Path(file.name)):
            wrong = " is a table, no rule file"
            hint = "rules read a table by @bind, and --data names one for a run"
        note = "lines of a file whose name does not end in .vada are not shown"
        self.findings.add("E322", f"@include: {file.name}{wrong}", span, note, hint)

    def source(self, root: Path) -> Source:
        if len(self.files) > 1:
            self._share_parameters()
        for file in self.files.values():
            if file.foreign and file.syntax:
                self._no_rules(file, file.foreign)
            else:
                self.findings.extend(file.syntax)
        self._check_modules()
        first = self.files[root]
        program = replace(first.program, clauses=tuple(self._clauses(root, set())))
        return Source(
            program,
            {f.name: f.folder for f in self.files.values()},
            {f.name: f.text for f in self.files.values()},
            self.whole and all(f.program.whole for f in self.files.values()),
        )

    def _share_parameters(self) -> None:
        """Parse files again that may use parameters of others; a file sets parameters of those it includes."""
        defined = {path: _definitions(file.program) for path, file in self.files.items()}
        outer = {path: self._outer(path, defined) for path in self.files}
        shared: dict[str, Constant] = {}
        for _ in range(1 + sum(map(len, defined.values()))):  # parameters may form a chain
            before, shared = shared, self._values(outer)
            if shared == before:
                break
            for path, file in self.files.items():
                file.program, file.syntax = read(file.text, file.name, shared, outer[path])
        for path, file in self.files.items():
            kept = tuple(c for c in file.program.clauses if _parameter(c) not in outer[path])
            file.program = replace(file.program, clauses=kept)

    def _values(self, outer: Mapping[Path, Container[str]]) -> dict[str, Constant]:
        """Values of all parameters, except those computed from unknown ones."""
        found: dict[str, Constant] = {}
        for path, file in self.files.items():
            unknown = {d.span for d in file.syntax if d.code == "E306"}
            for name, clause in _definitions(file.program).items():
                value = clause.arguments[1]
                if name not in outer[path] and value.span not in unknown:
                    found.setdefault(name, value)
        return found

    def _outer(self, path: Path, defined: Mapping[Path, Iterable[str]]) -> frozenset[str]:
        """Names of the parameters defined by files that include this one, directly or indirectly."""
        included = {p: {*file.included.values()} for p, file in self.files.items()}
        above = grown({path}, lambda known: [p for p in included if known & included[p]])
        return frozenset(name for p in above - {path} for name in defined[p])

    def _check_modules(self) -> None:
        declared: dict[str, Span] = {}
        for file in self.files.values():
            for clause in file.program.clauses:
                if isinstance(clause, Annotation) and clause.name == "module" and clause.arguments:
                    name = str(clause.arguments[0].value)
                    first = declared.setdefault(name, clause.span)
                    if first is not clause.span:
                        self.findings.add(
                            "E305",
                            f"there are two modules {name!r}",
                            clause.span,
                            hint="give one of them another name",
                            related=((first, "the first one"),),
                        )

    def _clauses(self, path: Path, done: set[Path]) -> Iterator[Clause]:
        done.add(path)
        for clause in self.files[path].program.clauses:
            yield clause
            target = self.files[path].included.get(clause.span)
            if target is not None and target not in done:
                yield from self._clauses(target, done)


def _definitions(program: Program) -> dict[str, Annotation]:
    return {
        name: clause
        for clause in reversed(program.clauses)
        if isinstance(clause, Annotation) and (name := _parameter(clause)) is not None
    }


def _parameter(clause: Clause) -> str | None:
    if isinstance(clause, Annotation) and clause.name == "param" and len(clause.arguments) == 2:
        return str(clause.arguments[0].value)
    return None


_LIBRARY = re.compile(r"[A-Za-z0-9_]{1,60}(\.vada)?\Z")
_MODULE = re.compile(r'^\s*@module\(\s*"([^"\n]*)"\s*\)', re.MULTILINE)
_SCANNED = 1000  # files of a folder that are searched for a module
_HEAD = 1 << 16  # bytes at the start of a file in which its module name must occur


def _find_file(wanted: str, folder: Path) -> tuple[Path, str] | None:
    """The file that an ``@include`` of a file in `folder` names, and its name in messages.

    Tried in turn: the path, the path with ``.vada``, a file of the folder that declares the name by ``@module``, a file
    of the rule library.
    """
    declared = (path.name for path, module in modules(folder) if module == wanted)
    for name in chain((wanted, f"{wanted}.vada") if wanted else (), declared):
        if os.path.isfile(folder / name):  # False for invalid file names
            path = Path(os.path.normpath(folder / name))
            return path, str(path)
    if _LIBRARY.match(wanted):
        name = wanted.removesuffix(".vada") + ".vada"
        try:
            return resource("rules", name), f"rules/{name}"
        except FileNotFoundError:
            return None
    return None


def modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """Rule files of a folder that declare a module name, with the names."""
    for path in _rule_files(folder):
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except OSError:
            continue
        for match in _MODULE.finditer(head.decode("utf-8", "replace")):
            yield path, match[1]


def _rule_files(folder: Path) -> list[Path]:
    try:
        return [p for p in sorted(folder.glob("*.vada"))[:_SCANNED] if p.is_file()]
    except OSError:
        return []


def _names(folder: Path) -> set[str]:
    library = _rule_files(resource("rules", "control.vada").parent)
    return {p.stem for p in (*_rule_files(folder), *library)} | {m for _, m in modules(folder)}
