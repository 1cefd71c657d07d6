"""Public names of `kgreason.links`; `kgreason.base.resources.lazily` reads this file as well."""

from kgreason.links.api import anonymize as anonymize
from kgreason.links.api import attack as attack
from kgreason.links.api import of_rules as of_rules
from kgreason.links.api import verify as verify
from kgreason.links.model import LinkGraph as LinkGraph
from kgreason.links.reading import read as read
from kgreason.links.result import LinksAnonymization as LinksAnonymization

__all__: list[str]
