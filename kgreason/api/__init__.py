"""The whole product from Python: each function fits a screen and shows its pipeline.

``rules`` is a path of a ``.vada`` file, its text, or a `CheckedProgram`. ``data`` names for each input predicate a file
(``"own.csv"``, with options ``"own.csv?percent=true"``), several files, or a table in memory: pandas, Polars,
Arrow, NetworkX, igraph or a list of tuples. Predicates not named there are read from the ``@bind`` of the rule file.
"""

from kgreason.api.assessing import attack, risk, score, verify, verify_alone
from kgreason.api.links import anonymize_links, attack_links, links_of_rules, verify_links
from kgreason.api.people import anonymize_people, score_people, verify_people
from kgreason.api.reasoning import Rules, commutation, explain, format_file, load, load_functions, reason
from kgreason.api.releasing import anonymize, read_graph

__all__ = [
    "Rules",
    "anonymize",
    "anonymize_links",
    "anonymize_people",
    "attack",
    "attack_links",
    "commutation",
    "explain",
    "format_file",
    "links_of_rules",
    "load",
    "load_functions",
    "read_graph",
    "reason",
    "risk",
    "score",
    "score_people",
    "verify",
    "verify_alone",
    "verify_links",
    "verify_people",
]
