"""Collect diagnostics; nothing stops at the first."""

from __future__ import annotations

from kgreason.errors import Diagnostic, Span


class Findings:
    """Diagnostics found so far."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        self._all = list(diagnostics)

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
        """In the order of the text."""
        return tuple(sorted(self._all, key=_position))

    @property
    def errors(self) -> bool:
        """Whether any of them stops the program."""
        return any(d.severity == "error" for d in self._all)


def _position(diagnostic: Diagnostic) -> tuple[int, int, str]:
    span = diagnostic.span
    return (span.line, span.column, diagnostic.code) if span else (0, 0, diagnostic.code)
