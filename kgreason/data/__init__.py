"""Facts and graphs in files, databases and other libraries: one file a format, its reader and its writer."""
