"""Reports of results for every family."""

from __future__ import annotations

from functools import singledispatch

from kgreason.base.errors import CallError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.definition import Anonymization
from kgreason.isomorphism.report import private_report as of_graph
from kgreason.links.report import private_report as of_links
from kgreason.links.result import LinksAnonymization
from kgreason.people.report import private_report as of_people
from kgreason.people.result import PeopleAnonymization
from kgreason.release.report.html_page import page
from kgreason.release.report.report_data import Report


@singledispatch
def report(result: object, progress: Progress = SILENT) -> Report:  # noqa: ARG001
    """Report on an anonymization: what is protected, at what cost, against which attackers (docs/report.md).

    The report names original vertices and is therefore secret.

    Parameters
    ----------
    result
        Result of `kgreason.anonymize`, `kgreason.people.anonymize` or `kgreason.links.anonymize`.

    Raises
    ------
    CallError
        For any other object.
    """
    raise CallError(
        f"a report is of the result of anonymize, not of type {type(result).__name__}",
        hint="say for instance kgreason.report(kgreason.anonymize(...))",
    )


@report.register
def _(result: Anonymization, progress: Progress = SILENT) -> Report:
    return of_graph(result, result.run, progress)


@report.register
def _(result: PeopleAnonymization, progress: Progress = SILENT) -> Report:
    return of_people(result, result.run, progress)


@report.register
def _(result: LinksAnonymization, progress: Progress = SILENT) -> Report:
    return of_links(result, result.run, progress)


def report_page(report: Report) -> str:
    """Render a report as one self-contained HTML page.

    Examples
    --------
    >>> report = Report("Ours", False, "holds", "It holds.", "Done.", "Safe.", ())
    >>> report_page(report).startswith("<!DOCTYPE html>")
    True
    """
    return page(report)
