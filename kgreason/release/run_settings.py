"""Settings of one anonymization of any family: its randomness, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass

from kgreason.base.setting_fields import setting
from kgreason.release.publication import Folders


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What an anonymization takes whatever its method."""

    seed: int | None = setting(None, metavar="N", least=0, reported=False)
    """Repeatable randomness, for experiments only: a release that can be computed again must not be published. Without
    a seed, the operating system seeds the generator."""
    folders: Folders | None = setting(None, option="", reported=False)
    """Where to write the release and its secret; what is then verified and scored is what was written, read back."""
