"""``kgreason init``: a first rule file for tables of edges, or a schema for a table of people."""
