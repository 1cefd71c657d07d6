"""Information that a release of a graph of people keeps."""
