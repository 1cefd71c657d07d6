"""Knowledge graphs: data model, interface to the reasoner, generators, subgraphs."""
