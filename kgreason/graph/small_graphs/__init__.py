"""Rules on subgraphs of at most eight vertices, with relations represented as bits of a word."""
