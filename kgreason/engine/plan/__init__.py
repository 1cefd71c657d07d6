"""Query planning: operators per rule and kinds per column, for a checked program."""
