"""Errors and diagnostics: message, position and hint.

Every error that a user can cause derives from :class:`KgreasonError`; any other exception is a bug in kgreason.
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
    """Range of text in a file; lines and columns start at 1, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Error or warning about a program.

    Attributes
    ----------
    code
        Stable identifier: ``E...`` for errors, ``W...`` for warnings.
    message
        One-sentence description of the problem.
    span
        Position; `None` if the diagnostic concerns the whole file.
    note
        Explanation: the rule of the language that is violated.
    hint
        The likely fix.
    related
        Further positions, each with a short explanation.
    """

    code: str
    message: str
    span: Span | None = None
    note: str | None = None
    hint: str | None = None
    related: tuple[tuple[Span, str], ...] = ()

    @property
    def severity(self) -> Literal["error", "warning"]:
        """``"warning"`` for codes that start with W, else ``"error"``."""
        return "warning" if self.code.startswith("W") else "error"

    def render(self, source: Source = None) -> str:
        """Render the diagnostic with its source line and a caret.

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


@lru_cache(maxsize=4)  # many diagnostics of one long file split it only once
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
    if (shown := hidden(line)) != line:  # no caret: it would reveal the length of the password
        return [f"  {span.line} | {shown[:160]}"]
    end = span.end_column if span.end_line == span.line else len(line) + 1
    start, width = span.column - 1, max(1, end - span.column)
    if len(line) > 160:  # keep the marked text visible on very long lines
        shift = max(0, start - 60)
        line, start, width = line[shift : shift + 160], start - shift, min(width, 100)
    gutter = str(span.line)
    return [f"  {gutter} | {line}", f"  {' ' * len(gutter)} | {' ' * start}{'^' * width}"]


def _shown(message: str, hint: str | None) -> str:
    """Message with its hint, in printable characters, with passwords in addresses masked."""
    return printable(hidden(message + (f"\n  help: {hint}" if hint else "")))


class KgreasonError(Exception):
    """Base of all errors that a user can cause."""


@dataclass(eq=False)
class _HintedError(KgreasonError):
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return _shown(self.message, self.hint)


class CallError(_HintedError, TypeError):
    """An argument of a Python function of kgreason has a wrong type."""


class EngineError(_HintedError):
    """An engine for several machines is missing, does not start, or gave up."""


@dataclass(eq=False)
class ProgramError(KgreasonError):
    """Invalid rule file; holds all diagnostics at once, and the texts that their spans point into."""

    diagnostics: tuple[Diagnostic, ...]
    source: str | Mapping[str, str] = field(default="", repr=False)

    def __str__(self) -> str:
        return render_all(self.diagnostics, self.source)


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Render diagnostics in order, separated by blank lines."""
    return "\n\n".join(d.render(source) for d in diagnostics)


@dataclass(eq=False)
class DataError(KgreasonError):
    """Invalid value or row of an input file.

    Attributes
    ----------
    line
        Line in the file (1-based), if known.
    column
        Column name or 1-based number, if known.
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


@dataclass(eq=False)
class EvaluationError(KgreasonError):
    """Rules that cannot be evaluated on this data; names the rule and, if there is one, the variable binding."""

    message: str
    rule: str | None = None
    span: Span | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        rule = f"\n  rule: {self.rule}" if self.rule else ""
        return _shown(f"{where}{self.message}{rule}", self.hint)


class InexactError(EvaluationError):
    """An integer that has no exact double, where only doubles are allowed."""


class MemoryLimitError(EvaluationError):
    """Facts that do not fit into the memory."""


class AnonymizationError(_HintedError):
    """A graph, rule set or parameter for which no anonymization is possible."""


class TooLargeError(AnonymizationError):
    """Subgraphs that are too large or too numerous to be decided."""


class NotRealizable(AnonymizationError):
    """Degree sequence that no simple undirected graph has; the message gives the reason."""


class ReleaseError(AnonymizationError):
    """A release that cannot be written or read."""


class Findings:
    """Collector of diagnostics; `files` are the names of the files in the order in which `all` takes them."""

    def __init__(self, diagnostics: Iterable[Diagnostic] = (), files: Iterable[str] = ()) -> None:
        self._all = list(diagnostics)
        self.files = tuple(files)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics of the parser."""
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
        """Add a diagnostic; duplicates at the same position are dropped."""
        diagnostic = Diagnostic(code, message, span, note, hint, related)
        if diagnostic not in self._all[-20:]:
            self._all.append(diagnostic)

    @property
    def all(self) -> tuple[Diagnostic, ...]:
        """All diagnostics in text order, file by file."""
        number = {file: i for i, file in enumerate(self.files)}
        return tuple(sorted(self._all, key=lambda d: _position(d, number)))

    @property
    def errors(self) -> bool:
        """Whether any diagnostic is an error."""
        return any(d.severity == "error" for d in self._all)


def _position(diagnostic: Diagnostic, number: Mapping[str, int]) -> tuple[int, int, int, str]:
    span = diagnostic.span
    if span is None:
        return (-1, 0, 0, diagnostic.code)
    return (number.get(span.file, 0), span.line, span.column, diagnostic.code)


def plural(arity: int) -> str:
    """Number of arguments as words, with the correct plural."""
    return f"{arity} argument" if arity == 1 else f"{arity} arguments"
