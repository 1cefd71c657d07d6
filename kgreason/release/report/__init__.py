"""Release reports: data, sections, charts and pages."""
