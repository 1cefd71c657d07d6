"""The independent checker of releases of links; it imports no anonymizer."""
