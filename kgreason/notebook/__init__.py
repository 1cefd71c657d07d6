"""How results look in notebooks: small pieces of HTML without scripts, readable in light and dark."""
