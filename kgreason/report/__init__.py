"""What a data steward reads: a page about a release, and the same as versioned JSON."""
