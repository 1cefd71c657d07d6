"""Reproduction of Figures 7 to 9 of LINKS: random graphs, attacks, conclusions of the paper, and the page of both."""
