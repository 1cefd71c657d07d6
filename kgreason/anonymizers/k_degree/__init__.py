"""k-degree anonymity of undirected simple graphs: a sequence of degrees, then a graph that has them."""
