"""What the three families of releases share: the pipeline, the two folders, and what stands in them."""
