"""Semi-naive evaluation of strata."""
