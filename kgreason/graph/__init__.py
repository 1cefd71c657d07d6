"""Knowledge graphs: model, files, generators, and the seam to the reasoner."""
