"""What rules derive on induced subgraphs."""
