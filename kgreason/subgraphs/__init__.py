"""Connected induced subgraphs and their classes."""
