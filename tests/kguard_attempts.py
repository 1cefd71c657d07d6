"""One attempt of KGUARD: how few edges it adds is tested elsewhere."""

from __future__ import annotations

import pytest

from kgreason.isomorphism.anonymizers import kguard


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make one plan in each test of the modules that import this."""
    monkeypatch.setattr(kguard, "_ATTEMPTS", 1)
    monkeypatch.setattr(kguard, "_MORE_ATTEMPTS", 1)
