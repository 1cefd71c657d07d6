"""Facts and graphs in files, databases and other libraries."""
