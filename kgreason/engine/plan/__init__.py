"""From a checked program to a plan: operators for each rule, kinds for each column."""
