"""Public names of `kgreason.people`; `kgreason.base.resources.lazily` reads this file as well."""

from kgreason.people.api import anonymize as anonymize
from kgreason.people.api import attack as attack
from kgreason.people.api import risk as risk
from kgreason.people.api import score as score
from kgreason.people.api import verify as verify
from kgreason.people.attacks import UserAttacks as UserAttacks
from kgreason.people.model import PeopleGraph as PeopleGraph
from kgreason.people.reading import read as read
from kgreason.people.result import PeopleAnonymization as PeopleAnonymization
from kgreason.people.schema_from_tables import schema as schema
from kgreason.people.snapshot_series import Snapshots as Snapshots
from kgreason.people.snapshot_series import snapshots as snapshots
from kgreason.people.user_risks import PeopleRisk as PeopleRisk

__all__: list[str]
