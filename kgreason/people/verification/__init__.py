"""The independent checker of releases of graphs of people; it imports no anonymizer."""
