"""Public names of kgreason, and where they come from; `kgreason.base.resources.lazily` reads this file as well."""

from kgreason import estimators as estimators
from kgreason import links as links
from kgreason import people as people
from kgreason import spark as spark
from kgreason.base.errors import AnonymizationError as AnonymizationError
from kgreason.base.errors import DataError as DataError
from kgreason.base.errors import Diagnostic as Diagnostic
from kgreason.base.errors import EvaluationError as EvaluationError
from kgreason.base.errors import KgreasonError as KgreasonError
from kgreason.base.errors import ProgramError as ProgramError
from kgreason.base.errors import ReleaseError as ReleaseError
from kgreason.data.library_exports import to_arrow as to_arrow
from kgreason.data.library_exports import to_igraph as to_igraph
from kgreason.data.library_exports import to_networkx as to_networkx
from kgreason.data.library_exports import to_pandas as to_pandas
from kgreason.data.library_exports import to_polars as to_polars
from kgreason.data.library_imports import from_igraph as from_igraph
from kgreason.data.library_imports import from_networkx as from_networkx
from kgreason.engine.limits import Limits as Limits
from kgreason.graph.knowledge_graph import KnowledgeGraph as KnowledgeGraph
from kgreason.graph.knowledge_graph import Relation as Relation
from kgreason.isomorphism.api import anonymize as anonymize
from kgreason.isomorphism.api import verify_series as verify_series
from kgreason.isomorphism.arguments import read_graph as read_graph
from kgreason.isomorphism.assessment import attack as attack
from kgreason.isomorphism.assessment import commutation as commutation
from kgreason.isomorphism.assessment import risk as risk
from kgreason.isomorphism.assessment import score as score
from kgreason.isomorphism.assessment import verify as verify
from kgreason.isomorphism.assessment import verify_alone as verify_alone
from kgreason.isomorphism.attacks.attack_results import Attacks as Attacks
from kgreason.isomorphism.reading import read_pair as read_pair
from kgreason.isomorphism.result import Anonymization as Anonymization
from kgreason.isomorphism.result import Score as Score
from kgreason.isomorphism.risk.advice import Risk as Risk
from kgreason.language.functions import function as function
from kgreason.language.values import Null as Null
from kgreason.reasoning.api import explain as explain
from kgreason.reasoning.api import load as load
from kgreason.reasoning.api import reason as reason
from kgreason.reasoning.changes import Changes as Changes
from kgreason.reasoning.in_parts import WrittenParts as WrittenParts
from kgreason.reasoning.in_parts import plan_parts as plan_parts
from kgreason.reasoning.in_parts import reason_in_parts as reason_in_parts
from kgreason.reasoning.reasoner import Reasoner as Reasoner
from kgreason.reasoning.results import Reasoned as Reasoned
from kgreason.release.publication import Folders as Folders
from kgreason.reporting import report as report
from kgreason.reporting import report_page as report_page

__version__: str
__all__: list[str]
