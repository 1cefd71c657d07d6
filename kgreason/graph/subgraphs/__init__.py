"""Connected induced subgraphs: enumeration and classification."""
