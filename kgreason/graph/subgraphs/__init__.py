"""Connected induced subgraphs, enumerated and classified."""
