"""k-degree anonymity of undirected simple graphs: a degree sequence, then a graph that realizes it."""
