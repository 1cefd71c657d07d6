"""How results on graphs of people look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.terminal import Row, held, publishable, table

if TYPE_CHECKING:
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.people.results import PeopleAnonymization
