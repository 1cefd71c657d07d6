"""k-degree anonymity of undirected simple graphs: a k-anonymous degree sequence and its realization."""
