"""Knowledge graphs: model, seam to the reasoner, generators, subgraphs."""
