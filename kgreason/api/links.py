"""Functions on links and the sensitive relation that they may tell of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.api.reasoning import Rules, load
from kgreason.arguments import check_data, check_numbers, check_probabilities
from kgreason.choices import THRESHOLDS, Strategy
from kgreason.errors import AnonymizationError
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.assess.links.verdict import LinksVerdict
    from kgreason.attacks.links.beliefs import Beliefs
    from kgreason.attacks.links.disclosure import Disclosure
    from kgreason.graph.links.model import Original, Released
    from kgreason.links.given import Mapped

    Release = Released | Path | str


def links_of_rules(
    rules: Rules,
    data: Mapping[str, Any] | None = None,
    *,
    sensitive: str | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Original:
    """Read a graph of links under rules: the edges are observed, and a predicate of the rules is sensitive.

    Parameters
    ----------
    sensitive
        The predicate, ground or derived, in place of the one that ``@sensitive`` names.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError
        If the rules or the data are at fault.
    AnonymizationError
        If no predicate is sensitive.
    """
    from kgreason.graph.links.program import links_of_program
    from kgreason.links.arguments import sensitive_of

    check_data(data)
    program = load(rules, allow_files=allow_files)
    return links_of_program(program, data or {}, sensitive_of(program, sensitive), progress)


def verify_links(
    released: Release,
    *,
    original: Original | None = None,
    mapping: Mapped | None = None,
    sensitive: str | None = None,
    k: int | None = None,
    strategy: Strategy | None = None,
    percent: float | None = None,
) -> LinksVerdict:
    """Decide whether a release of links is what its strategy says, and keeps the sensitive relation to itself.

    Without the original, what the release alone tells is decided; the rest is in `LinksVerdict.needs_original`.

    Parameters
    ----------
    released
        The release, or its folder; of a folder each file must be what kgreason writes.
    original, mapping
        The original with its secret, and the released node of each entity: names, numbers, or the private folder.
    sensitive
        The relation that must not be told, where the original is not given.
    k
        Entities that nothing but links may tell apart, of releases with clusters or values; 3 by default.
    strategy
        How the release must have been made; by default as it says itself.
    percent
        Of ``"partial"``, with the original: share of the links of each relation that must be left out at least.

    Raises
    ------
    AnonymizationError
        If arguments do not fit together.
    DataError, ReleaseError
        If a file is at fault, or the mapping is of another release.
    """
    from kgreason.assess.links.source import Source
    from kgreason.assess.links.verify import verify_links as decide
    from kgreason.links.arguments import (
        check_judged,
        check_original,
        check_percent,
        check_strategy,
        released_of,
    )
    from kgreason.links.folder import form
    from kgreason.links.given import mapping_of

    check_numbers(k=(k, 1))
    if strategy is not None:
        check_strategy(strategy)
    check_percent(percent)
    if original is not None:
        check_original(original)
    if (original is None) != (mapping is None):
        raise AnonymizationError("original and mapping belong together", hint="give both, or neither")
    found = released_of(released)
    check_judged(found, original, k, strategy, percent)
    source = None
    if original is not None and mapping is not None:
        source = Source(original.graph, mapping_of(mapping, original.graph, found.graph))
        if sensitive is not None and sensitive != original.sensitive.name:
            raise AnonymizationError(
                f"{sensitive!r} is said to be sensitive, but the original has {original.sensitive.name!r}",
                hint="leave it out: the original says it",
            )
        sensitive = original.sensitive.name
    return decide(
        found,
        secret=sensitive,
        source=source,
        k=3 if k is None else k,
        strategy=strategy,
        percent=percent,
        form=form(Path(released), found) if isinstance(released, Path | str) else None,
    )


def attack_links(
    released: Release,
    original: Original,
    mapping: Mapped,
    *,
    noise: Mapping[str, float] | None = None,
    leak: float = 0.0,
    rules: Rules | None = None,
    thresholds: Iterable[float] | float = THRESHOLDS,
    sharp: bool = False,
    worlds: int | None = None,
    seed: int | None = None,
    progress: Progress = SILENT,
) -> Disclosure:
    """Let an adversary guess the sensitive links from a release, and compare his guesses with the truth.

    Parameters
    ----------
    released, original, mapping
        As for `verify_links`.
    noise
        Noisy-or adversary: probability with which a link of each released relation causes a sensitive one.
    leak
        Probability of a sensitive link without any cause.
    rules
        An adversary with rules, in place of `noise`, each as probable as its ``@label`` says.
    thresholds
        Pairs that he believes in with more than these probabilities are predicted, or with more than this one.
    sharp
        Of constrained clusters: whether the noisy-or adversary uses more than the paper's does; see docs/links.md.
    worlds, seed
        Of an adversary with rules: how many worlds are drawn (100) where he does not know which entities of clusters
        are linked, and how to draw the same again.

    Raises
    ------
    AnonymizationError
        If there are neither noise nor rules, or both, if an argument has no effect, a number is no probability, the
        release holds the sensitive relation, or the adversary infers by a relation that it does not hold.
    CallError, ReleaseError
        If an argument is of another type, or the mapping of another release.

    References
    ----------
    LINKS, sections 6, 7 and 8.2.

    Examples
    --------
    >>> from kgreason.api import anonymize_links
    >>> from kgreason.graph.links.school import school
    >>> drawn = school(np.random.default_rng(1), students=40)
    >>> result = anonymize_links(drawn, strategy="intact", seed=1)
    >>> found = attack_links(
    ...     result.release.released,
    ...     drawn,
    ...     result.mapping,
    ...     noise={"classmates": 0.4, "groupmates": 0.6},
    ...     leak=0.2,
    ... )
    >>> found.at[0].recall > found.at[3].recall
    True
    """
    from kgreason.attacks.links.beliefs import check_unheld
    from kgreason.attacks.links.disclosure import disclosure
    from kgreason.attacks.links.noisy_or import Noise, beliefs_of, knowledge_of
    from kgreason.links.arguments import check_attack, check_noise, check_original, released_of, thresholds_of
    from kgreason.links.given import mapping_of

    if (noise is None) == (rules is None):
        raise AnonymizationError(
            "an adversary infers by the noise of relations, or by rules",
            hint="say for instance noise={'classmates': 0.4}, or rules='adversary.vada'",
        )
    check_numbers(worlds=(worlds, 1), seed=(seed, 0))
    check_probabilities(leak=leak)
    above = thresholds_of(thresholds)
    check_original(original)
    found = released_of(released)
    node = mapping_of(mapping, original.graph, found.graph)
    check_unheld(found, original.sensitive.name)
    check_attack(found, by_rules=rules is not None, sharp=sharp, worlds=worlds, seed=seed)
    mutual = original.sensitive.mutual
    if noise is not None:
        check_noise(noise, found)
        known = knowledge_of(original.graph)
        beliefs = beliefs_of(found, Noise(leak, noise), known, mutual, sharp=sharp)
    else:
        assert rules is not None
        rng = np.random.default_rng(seed)
        beliefs = _by_rules(found, original, rules, leak, 100 if worlds is None else worlds, rng, progress)
    return disclosure(beliefs, found.graph, original.sensitive, node, above)


def _by_rules(
    released: Released,
    original: Original,
    rules: Rules,
    leak: float,
    worlds: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Beliefs:
    from kgreason.attacks.links.noisy_or import knowledge_of
    from kgreason.attacks.links.rules import rule_beliefs

    return rule_beliefs(
        released,
        load(rules),
        sensitive=original.sensitive.name,
        leak=leak,
        worlds=worlds,
        rng=rng,
        mutual=original.sensitive.mutual,
        limits=knowledge_of(original.graph).limits,
        progress=progress,
    )
