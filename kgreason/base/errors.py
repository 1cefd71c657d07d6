"""Errors and diagnostics: what went wrong, where, and how to mend it.

Every error a user can cause derives from :class:`KgreasonError`; anything else is a defect of kgreason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from kgreason.base.printable import hidden, printable

Source = str | Mapping[str, str] | None
"""The text that spans point into: of one file, or of each file by its name."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of text in a file; lines and columns start at 1, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a program.

    Attributes
    ----------
    code
        Stable identifier, ``E...`` for errors and ``W...`` for warnings.
    message
        What is wrong, in one sentence.
    span
        Where; `None` when the finding concerns the whole file.
    note
        Why it is wrong: the rule of the language that the message teaches.
    hint
        The likely fix.
    related
        Other culprits, each with a word on its part.
    """

    code: str
    message: str
    span: Span | None = None
    note: str | None = None
    hint: str | None = None
    related: tuple[tuple[Span, str], ...] = ()

    @property
    def severity(self) -> Literal["error", "warning"]:
        """``"warning"`` for codes that start with W."""
        return "warning" if self.code.startswith("W") else "error"

    def render(self, source: Source = None) -> str:
        """Write the finding with its source line and a caret.

        Parameters
        ----------
        source
            Text of the file that `span` points into, or the texts of all files by name.

        Examples
        --------
        >>> span = Span("a.vada", 1, 6, 1, 7)
        >>> print(Diagnostic("E101", "variable Y is not bound", span, hint="bind Y").render("p(X, Y) :- q(X)."))
        a.vada:1:6: error[E101]: variable Y is not bound
          1 | p(X, Y) :- q(X).
            |      ^
          help: bind Y
        """
        where = f"{self.span}: " if self.span else ""
        parts = [hidden(f"{where}{self.severity}[{self.code}]: {self.message}")]
        if self.span:
            parts += _quote(self.span, source)
        for span, words in self.related:
            parts.append(f"  {span}: {words}")
            parts += _quote(span, source)
        if self.note:
            parts.append(f"  note: {self.note}")
        if self.hint:
            parts.append(hidden(f"  help: {self.hint}"))
        return printable("\n".join(parts))


@lru_cache(maxsize=4)  # many findings of one long file split it once
def _lines(source: str) -> list[str]:
    return source.split("\n")  # spans count line feeds only


def _quote(span: Span, source: Source) -> list[str]:
    text = source.get(span.file) if isinstance(source, Mapping) else source
    if text is None:
        return []
    lines = _lines(text)
    if not 1 <= span.line <= len(lines):
        return []
    line = "".join(c if c.isprintable() else " " for c in lines[span.line - 1])
    if (shown := hidden(line)) != line:  # no caret: it would tell the length
        return [f"  {span.line} | {shown[:160]}"]
    end = span.end_column if span.end_line == span.line else len(line) + 1
    start, width = span.column - 1, max(1, end - span.column)
    if len(line) > 160:  # keep the culprit in view on very long lines
        shift = max(0, start - 60)
        line, start, width = line[shift : shift + 160], start - shift, min(width, 100)
    gutter = str(span.line)
    return [f"  {gutter} | {line}", f"  {' ' * len(gutter)} | {' ' * start}{'^' * width}"]


def _shown(message: str, hint: str | None) -> str:
    """A message with its hint, printable; a password that someone wrote into an address is not repeated."""
    return printable(hidden(message + (f"\n  help: {hint}" if hint else "")))


class KgreasonError(Exception):
    """Base of every error that a user can cause."""


@dataclass
class _HintedError(KgreasonError):
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return _shown(self.message, self.hint)


class CallError(_HintedError, TypeError):
    """An argument of a Python function of kgreason that is of a wrong type."""


@dataclass
class ProgramError(KgreasonError):
    """A rule file that cannot run; holds all its diagnostics at once.

    Attributes
    ----------
    source
        Text of the file, or of each file by the name that spans give it.
    """

    diagnostics: tuple[Diagnostic, ...]
    source: str | Mapping[str, str] = field(default="", repr=False)

    def __str__(self) -> str:
        return render_all(self.diagnostics, self.source)


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Render diagnostics in order, separated by blank lines.

    Parameters
    ----------
    source
        As for `Diagnostic.render`.

    Examples
    --------
    >>> found = [Diagnostic("W501", "no facts", Span(f, 1, 1, 1, 2)) for f in ("a.vada", "b.vada")]
    >>> print(render_all(found, {"a.vada": "p.", "b.vada": "q."}))
    a.vada:1:1: warning[W501]: no facts
      1 | p.
        | ^
    <BLANKLINE>
    b.vada:1:1: warning[W501]: no facts
      1 | q.
        | ^
    """
    return "\n\n".join(d.render(source) for d in diagnostics)


@dataclass
class DataError(KgreasonError):
    """A value or row of an input file that does not fit.

    Attributes
    ----------
    line
        Line in the file (1-based), where known.
    column
        Column name or 1-based number, where known.
    """

    file: str
    message: str
    line: int | None = None
    column: str | int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line is not None else "")
        column = f" column {self.column!r}:" if self.column is not None else ""
        return _shown(f"{where}:{column} {self.message}", self.hint)


@dataclass
class EvaluationError(KgreasonError):
    """Rules that cannot be carried out on this data; names the rule and, where there is one, the binding."""

    message: str
    rule: str | None = None
    span: Span | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        rule = f"\n  rule: {self.rule}" if self.rule else ""
        return _shown(f"{where}{self.message}{rule}", self.hint)


class InexactError(EvaluationError):
    """An integer that no double equals, where only doubles can stand."""


class AnonymizationError(_HintedError):
    """A graph, rule set or parameter for which no anonymization can be made."""


class TooLargeError(AnonymizationError):
    """Subgraphs that are too large or too many to be decided."""


class NotRealizable(AnonymizationError):
    """Degrees that no simple undirected graph has; the message says why."""


class ReleaseError(AnonymizationError):
    """A release that cannot be written or read."""


class Findings:
    """Diagnostics found so far."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        self._all = list(diagnostics)
        self.files: tuple[str, ...] = ()
        """Names of the files in the order in which `all` takes them."""

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add findings of the parser."""
        self._all.extend(diagnostics)

    def add(
        self,
        code: str,
        message: str,
        span: Span | None,
        note: str | None = None,
        hint: str | None = None,
        related: tuple[tuple[Span, str], ...] = (),
    ) -> None:
        """Add one; the same finding at the same place counts once."""
        diagnostic = Diagnostic(code, message, span, note, hint, related)
        if diagnostic not in self._all[-20:]:
            self._all.append(diagnostic)

    @property
    def all(self) -> tuple[Diagnostic, ...]:
        """In the order of the text, file by file."""
        number = {file: i for i, file in enumerate(self.files)}
        return tuple(sorted(self._all, key=lambda d: _position(d, number)))

    @property
    def errors(self) -> bool:
        """Whether any of them stops the program."""
        return any(d.severity == "error" for d in self._all)


def _position(diagnostic: Diagnostic, number: Mapping[str, int]) -> tuple[int, int, int, str]:
    span = diagnostic.span
    if span is None:
        return (-1, 0, 0, diagnostic.code)
    return (number.get(span.file, 0), span.line, span.column, diagnostic.code)


def plural(arity: int) -> str:
    """Number of arguments in words."""
    return f"{arity} argument" if arity == 1 else f"{arity} arguments"
