"""File formats and databases: one file a format, its reader and its writer."""
