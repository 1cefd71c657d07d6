"""Parser: from text to a syntax tree."""
