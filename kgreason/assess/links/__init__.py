"""The checker of releases that leave out a sensitive relation."""
