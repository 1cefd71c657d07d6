"""The tables and figures of the KGISO paper, measured again: what is run, what the paper has, and the page of both."""
