"""Figures 7 to 9 of LINKS, measured again: what is drawn and attacked, what the paper says, and the page of both."""
