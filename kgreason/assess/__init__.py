"""Independent verification and scores of a release."""
