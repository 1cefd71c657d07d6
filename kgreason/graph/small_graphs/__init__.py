"""Rules on subgraphs of at most eight vertices, whose relations are bits of a word."""
