"""Equal strings and rows, found by their hashes."""
