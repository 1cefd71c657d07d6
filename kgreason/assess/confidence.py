"""How sure intervals are, wherever something is estimated."""

CONFIDENCE = 0.95
NORMAL = 1.959963984540054  # standard errors on either side of a normal mean that hold so much of it
