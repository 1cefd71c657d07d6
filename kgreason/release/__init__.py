"""Release infrastructure common to all families: pipeline, folders, verdicts and reports."""
