"""Relations as columns of coded values: symbol tables, rows, hash tables, indexes."""
