"""Writing facts: tables, databases, graphs and triples."""
