"""Independent checker of (k,x)-isomorphism; it imports no anonymizer."""
