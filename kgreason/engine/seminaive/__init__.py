"""Semi-naive evaluation of the strata of a program."""
