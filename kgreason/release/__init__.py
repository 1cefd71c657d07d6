"""What all families of releases share: the pipeline, the two folders, verdicts, and the report."""
