"""kgreason: reason over knowledge graphs, anonymize them against derived edges, and prove it.

Examples
--------
>>> import kgreason
>>> rules = '''
... @edge("own"). @node("company"). @output("control").
... control(X, X) :- company(X).
... control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
... '''
>>> facts = kgreason.reason(rules, {"own": [("A", "D", 0.6), ("D", "E", 0.8)]})
>>> sorted(facts.rows("control"))
[('A', 'A'), ('A', 'D'), ('A', 'E'), ('D', 'D'), ('D', 'E'), ('E', 'E')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgreason import estimators as estimators
    from kgreason.advice.report import Risk
    from kgreason.api import (
        anonymize,
        anonymize_links,
        anonymize_people,
        attack,
        attack_links,
        commutation,
        explain,
        links_of_rules,
        load,
        read_graph,
        reason,
        risk,
        score,
        score_people,
        verify,
        verify_alone,
        verify_links,
        verify_people,
    )
    from kgreason.attacks.results import Attacks
    from kgreason.changes import Changes
    from kgreason.data.interchange import (
        from_igraph,
        from_networkx,
        to_arrow,
        to_igraph,
        to_networkx,
        to_pandas,
        to_polars,
    )
    from kgreason.data.interchange.people import people_schema
    from kgreason.engine.limits import Limits
    from kgreason.errors import (
        AnonymizationError,
        DataError,
        Diagnostic,
        EvaluationError,
        KgreasonError,
        ProgramError,
        ReleaseError,
    )
    from kgreason.graph.links.model import LinkGraph
    from kgreason.graph.links.read import read_links
    from kgreason.graph.model import KnowledgeGraph, Relation
    from kgreason.graph.people.model import PeopleGraph
    from kgreason.graph.people.read import read_people
    from kgreason.isomorphism.reading import read_pair
    from kgreason.isomorphism.release import Anonymization, Score
    from kgreason.lang.functions import function
    from kgreason.lang.values import Null
    from kgreason.links.release import LinksAnonymization
    from kgreason.people.release import PeopleAnonymization
    from kgreason.reasoner import Reasoner
    from kgreason.release.publication import Folders
    from kgreason.results import Reasoned

__version__ = "0.1.0"

__all__ = [
    "Anonymization",
    "AnonymizationError",
    "Attacks",
    "Changes",
    "DataError",
    "Diagnostic",
    "EvaluationError",
    "Folders",
    "KgreasonError",
    "KnowledgeGraph",
    "Limits",
    "LinkGraph",
    "LinksAnonymization",
    "Null",
    "PeopleAnonymization",
    "PeopleGraph",
    "ProgramError",
    "Reasoned",
    "Reasoner",
    "Relation",
    "ReleaseError",
    "Risk",
    "Score",
    "anonymize",
    "anonymize_links",
    "anonymize_people",
    "attack",
    "attack_links",
    "commutation",
    "explain",
    "from_igraph",
    "from_networkx",
    "function",
    "links_of_rules",
    "load",
    "people_schema",
    "read_graph",
    "read_links",
    "read_pair",
    "read_people",
    "reason",
    "risk",
    "score",
    "score_people",
    "to_arrow",
    "to_igraph",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "verify",
    "verify_alone",
    "verify_links",
    "verify_people",
]


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that ``import kgreason`` takes 0.02 s and not 0.3 s."""
    import ast
    from importlib import import_module
    from pathlib import Path

    if name == "estimators":
        return import_module("kgreason.estimators")
    if name in __all__:  # the imports for type checkers above tell from where
        for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                found = globals()[name] = getattr(import_module(str(node.module)), name)
                return found
    raise AttributeError(f"module 'kgreason' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
