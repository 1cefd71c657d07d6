"""Reports of results for every family."""

from __future__ import annotations

from kgreason.base.errors import CallError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.report import private_report as graph_report
from kgreason.isomorphism.result import Anonymization
from kgreason.links.report import private_report as links_report
from kgreason.links.result import LinksAnonymization
from kgreason.people.report import private_report as people_report
from kgreason.people.result import PeopleAnonymization
from kgreason.release.report.html_page import page
from kgreason.release.report.report_data import Report


def report(result: object, progress: Progress = SILENT) -> Report:
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
    match result:
        case Anonymization():
            return graph_report(result, result.run, progress)
        case PeopleAnonymization():
            return people_report(result, result.run, progress)
        case LinksAnonymization():
            return links_report(result, result.run, progress)
    raise CallError(
        f"a report is of the result of anonymize, not of type {type(result).__name__}",
        hint="say for instance kgreason.report(kgreason.anonymize(...))",
    )


def report_page(report: Report) -> str:
    """Render a report as one self-contained HTML page."""
    return page(report)
