"""Relations as columns of coded values: symbols, rows, hash tables, indexes."""
