"""Collect diagnostics; nothing stops at the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgreason.errors import Diagnostic, Span


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
