"""Anonymizers with the scikit-learn estimator interface; scikit-learn itself is imported only when needed.

Examples
--------
>>> from kgreason.estimators import KLONE
>>> edges = [("A", "B", 0.6), ("B", "C", 0.3)]
>>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
>>> anonymizer = KLONE(rules, k=2, x=2)
>>> released = anonymizer.fit_transform({"own": edges})
>>> anonymizer.verdict_.holds
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from kgreason.base.errors import CallError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.settings import Kguard, Klone
from kgreason.isomorphism.settings import KIso as KIsoSettings
from kgreason.links.settings import Settings as LinksSettings
from kgreason.people.settings import Cdga, Ckga, Ctkga, Pckga
from kgreason.people.settings import KDegree as KDegreeSettings

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.arguments import GraphData
    from kgreason.isomorphism.result import Anonymization, Score
    from kgreason.isomorphism.verification.verdict import Verdict
    from kgreason.links.model import Original, Released
    from kgreason.links.result import LinksAnonymization
    from kgreason.links.verification import LinksVerdict
    from kgreason.people.file_schema import Schema
    from kgreason.people.model import PeopleGraph
    from kgreason.people.result import PeopleAnonymization
    from kgreason.people.utility import Utility
    from kgreason.people.verification.verdict import PeopleVerdict
    from kgreason.reasoning.api import Rules
    from kgreason.release.report.report_data import Report
    from kgreason.release.verdicts import Examined


__all__ = ["CDGA", "CKGA", "CTKGA", "KGUARD", "KLONE", "PCKGA", "Estimator", "KDegree", "KIso", "Links"]
Data = TypeVar("Data")
Published = TypeVar("Published")


class Estimator(Generic[Data, Published]):
    """Base class of anonymizers, compatible with `sklearn.base.clone`, `ParameterGrid` and `Pipeline`.

    The parameters are those of ``__init__``; they are stored unchanged and checked by ``fit``. Fitted attributes end
    with an underscore. An anonymizer makes one release of one graph, so there is no ``transform`` for other data:
    ``fit_transform`` returns the release, and in a `sklearn.pipeline.Pipeline` an anonymizer is the last step. The
    classes do not inherit from `sklearn.base.BaseEstimator`, and ``check_estimator`` of scikit-learn does not apply,
    because the data are graphs.

    Attributes
    ----------
    result_
        Result of the corresponding function of `kgreason`.
    released_, verdict_, score_
        The graph to publish, the checker's verdict, and the utility of the release.
    mapping_
        Released label of each original label; secret.
    """

    result_: Any
    released_: Published
    verdict_: Examined
    score_: object
    mapping_: dict[str, str]
    _family: ClassVar[str]
    _method: ClassVar[str | None] = None
    _found: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"released_": "release.graph", "verdict_": "verdict", "score_": "score", "mapping_": "mapping"}
    )

    @classmethod
    def _parameters(cls) -> dict[str, Parameter]:
        found = signature(cls.__init__).parameters
        return {name: parameter for name, parameter in found.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name.

        Parameters
        ----------
        deep
            Ignored: no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; fitted attributes stay until the next `fit`.

        Raises
        ------
        CallError
            If a parameter does not exist; then none is changed.
        """
        known = self._parameters()
        for name in parameters:
            if name not in known:
                from kgreason.language.vocabulary import suggest

                near = suggest(name, known)
                raise CallError(
                    f"{type(self).__name__} has no parameter {name!r}",
                    hint=f"did you mean {near!r}?" if near else f"there are {', '.join(known)}",
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = []
        for name, parameter in self._parameters().items():
            default = parameter.default
            value = getattr(self, name, default)
            if value is not default and not (type(value) is type(default) and value == default):
                text = repr(value)
                shown.append(f"{name}={text if len(text) <= 60 else text[:56] + ' ...'}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def fit(self, X: Data | None = None, y: None = None, *, progress: Progress = SILENT) -> Self:  # noqa: ARG002
        """Anonymize a graph, verify the release and compute its score.

        Parameters
        ----------
        X
            The data, in the form that the corresponding function of `kgreason` takes. For (k,x)-isomorphism and
            k-isomorphism: a file or table per predicate, a graph, or a table of edges; `None`: the data named by the
            rules. For people and links: a graph, a schema (`kgreason.people.schema` of tables), or a schema file.
        y
            Ignored; present for compatibility with scikit-learn.
        progress
            Receives the steps.

        Raises
        ------
        ProgramError, DataError, EvaluationError, AnonymizationError
            As the corresponding function.
        """
        chosen = self.get_params() | ({"method": self._method} if self._method else {})
        anonymize = import_module(f"kgreason.{self._family}.api").anonymize
        given = (chosen.pop("rules"), X) if self._family == "isomorphism" else (X,)
        self.result_ = anonymize(*given, progress=progress, **chosen)
        for name, where in self._found.items():
            setattr(self, name, attrgetter(where)(self.result_))
        return self

    def fit_transform(
        self, X: Data | None = None, y: None = None, *, progress: Progress = SILENT
    ) -> Published:
        """Call `fit` and return the graph to publish; `verdict_` says whether it may be published."""
        return self.fit(X, y, progress=progress).released_

    def report(self) -> Report:
        """Report on the release; secret, since it describes the original graph.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        """
        from kgreason.reporting import report

        return report(self.result_)

    def __sklearn_is_fitted__(self) -> bool:
        return "result_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
            non_deterministic=True,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("result_", *type(self)._found):
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(
                    f"this {type(self).__name__} has no {name} yet: call fit or fit_transform first"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


if TYPE_CHECKING:
    _Graphs = Estimator[GraphData, KnowledgeGraph]
    _People = Estimator[PeopleGraph | Schema | Path | str, PeopleGraph]
    _Links = Estimator[Original | Schema | Path | str | Mapping[str, Any], Released]
else:
    _Graphs = _People = _Links = Estimator


class _OfGraphs(_Graphs):
    result_: Anonymization
    verdict_: Verdict
    score_: Score
    _family = "isomorphism"


@dataclass(frozen=True, eq=False, repr=False)
class _UnderRules(_OfGraphs):
    rules: Rules


@dataclass(frozen=True, eq=False, repr=False)
class KGUARD(_UnderRules, Kguard):
    """(k,x)-isomorphism with few additions: protects connected subgraphs of x vertices.

    The parameters are those of `kgreason.anonymize` that apply to the method.

    References
    ----------
    KGISO, algorithm KGUARD; docs/methods/kguard.md.

    Examples
    --------
    >>> rules = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
    >>> anonymizer = KGUARD(rules, k=2, x=2)
    >>> released = anonymizer.fit_transform({"own": [("A", "B", 0.6), ("B", "C", 0.3)]})
    >>> anonymizer.verdict_.state, anonymizer.score_.utility.u
    ('holds', 0.0)
    """

    _method = "kguard"


@dataclass(frozen=True, eq=False, repr=False)
class KLONE(_UnderRules, Klone):
    """(k,x)-isomorphism for every x by k - 1 copies of the whole graph.

    The parameters are those of `kgreason.anonymize` that apply to the method.

    References
    ----------
    KGISO, algorithm KLONE; docs/methods/klone.md.

    Examples
    --------
    >>> anonymizer = KLONE('@edge("own"). p(X,Y) :- own(X,Y).', k=2, x=2)
    >>> str(anonymizer.fit({"own": [("A", "B"), ("B", "C")]}).result_.release.guarantee)
    '(2,x)-isomorphism for every x'
    """

    _method = "klone"


@dataclass(frozen=True, eq=False, repr=False)
class KIso(_UnderRules, KIsoSettings):
    """k isomorphic blocks without edges between them; a baseline that protects neither derived edges nor degrees.

    The parameters are those of `kgreason.anonymize` that apply to the method.

    References
    ----------
    J. Cheng, A. W. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks, SIGMOD
    2010.
    """

    _method = "k-iso"


class _OfPeople(_People):
    """Base class of anonymizers of graphs of people.

    Attributes
    ----------
    score_
        Information loss; `None` if it could not be measured.
    removed_
        Users that are not released.
    """

    result_: PeopleAnonymization
    verdict_: PeopleVerdict
    score_: Utility | None
    removed_: list[str]
    _family = "people"
    _found = MappingProxyType({**Estimator._found, "score_": "utility", "removed_": "removed"})


@dataclass(frozen=True, eq=False, repr=False)
class CDGA(_OfPeople, Cdga):
    """Paired k-degree anonymity of directed graphs without attributes: equal in- and out-degrees in each relation.

    The parameters are those of `kgreason.people.anonymize` that apply to the method.

    References
    ----------
    THESIS, chapter 3; docs/methods/cdga.md.

    Examples
    --------
    >>> from kgreason.people import PeopleGraph
    >>> links = [("Ken", "follows", "Mary"), ("Mary", "follows", "Tom"), ("Tom", "follows", "Jane")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], [], links)
    >>> CDGA(k=2).fit(graph).verdict_.holds
    True
    """

    _method = "cdga"


@dataclass(frozen=True, eq=False, repr=False)
class CKGA(_OfPeople, Ckga):
    """k-attribute-degree anonymity: equal values and degrees, with the same k for all users.

    The parameters are those of `kgreason.people.anonymize` that apply to the method.

    References
    ----------
    THESIS, chapter 4; docs/methods/ckga.md.

    Examples
    --------
    >>> from kgreason.people import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> anonymizer = CKGA(k=2).fit(graph)
    >>> anonymizer.verdict_.holds, anonymizer.removed_
    (True, [])
    """

    _method = "ckga"


@dataclass(frozen=True, eq=False, repr=False)
class PCKGA(_OfPeople, Pckga):
    """Personalized k-attribute-degree anonymity: equal values and degrees, with a separate k for each user.

    The parameters are those of `kgreason.people.anonymize` that apply to the method.

    References
    ----------
    PCKGA, section 3; docs/methods/pckga.md.

    Examples
    --------
    >>> from kgreason.people import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> anonymizer = PCKGA(k_values={"Ken": 2, "Mary": 2, "Tom": 2, "Jane": 2})
    >>> released = anonymizer.fit_transform(graph)
    >>> released.n, anonymizer.verdict_.holds
    (4, True)
    """

    _method = "pckga"


@dataclass(frozen=True, eq=False, repr=False)
class CTKGA(_OfPeople, Ctkga):
    """k-attribute-degree anonymity over any w consecutive releases of a changing graph.

    The parameters are those of `kgreason.people.anonymize` that apply to the method.

    References
    ----------
    THESIS, chapter 5; docs/methods/ctkga.md.

    Examples
    --------
    >>> from kgreason.people import PeopleGraph
    >>> jobs = [("Ken", "job", "clerk"), ("Mary", "job", "clerk"), ("Tom", "job", "nurse"), ("Jane", "job", "cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], jobs, [("Ken", "follows", "Tom")])
    >>> CTKGA(k=2, window=2).fit(graph).verdict_.model
    'kw-tad'
    """

    _method = "ctkga"


@dataclass(frozen=True, eq=False, repr=False)
class KDegree(_OfPeople, KDegreeSettings):
    """k-degree anonymity of undirected graphs: every degree that occurs is shared by at least k users.

    The parameters are those of `kgreason.people.anonymize` that apply to the method.

    References
    ----------
    K. Liu, E. Terzi: Towards identity anonymization on graphs, SIGMOD 2008; docs/methods/k-degree.md.

    Examples
    --------
    >>> from kgreason.people import PeopleGraph
    >>> links = [("Ken", "mail", "Mary"), ("Mary", "mail", "Tom"), ("Tom", "mail", "Jane")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary", "Tom", "Jane"], [], links, mutual=["mail"])
    >>> KDegree(k=2).fit_transform(graph).out_degrees().ravel().tolist().count(1)
    2
    """

    _method = "k-degree"


class _OfLinks(_Links):
    result_: LinksAnonymization
    verdict_: LinksVerdict
    score_: float
    _family = "links"
    _found = MappingProxyType({**Estimator._found, "released_": "release.released", "score_": "utility"})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Links(_OfLinks, LinksSettings):
    """Anonymization of a graph of links by one of five strategies; the sensitive relation is removed.

    Parameters
    ----------
    rules, sensitive, strategy, k, percent, clustering, clusters, seed, folders
        As for `kgreason.links.anonymize`.

    Attributes
    ----------
    score_
        Share of the links that is kept; 1 is best.

    References
    ----------
    LINKS, section 4; docs/methods/links.md.

    Examples
    --------
    >>> from kgreason.people import schema as people_schema
    >>> names = list("abcdef")
    >>> seats = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
    >>> data = people_schema({"name": names}, id="name", links={"sits by": seats, "likes": [("a", "f")]})
    >>> anonymizer = Links(sensitive="likes", k=2)
    >>> anonymizer.fit_transform(data).graph.n, anonymizer.verdict_.holds, anonymizer.score_
    (3, True, 1.0)
    """

    rules: Rules | None = None


for _each in (KGUARD, KLONE, KIso, CDGA, CKGA, PCKGA, CTKGA, KDegree, Links):
    # settings are frozen, but parameters of scikit-learn estimators can be set
    _each.__setattr__ = object.__setattr__  # type: ignore[method-assign]
    _each.__delattr__ = object.__delattr__  # type: ignore[method-assign]
    # two estimators are two objects, whatever their settings
    _each.__eq__ = object.__eq__  # type: ignore[method-assign]
    _each.__hash__ = object.__hash__  # type: ignore[method-assign]
