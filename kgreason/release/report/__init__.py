"""The report of a release: data, sections, charts and pages."""
