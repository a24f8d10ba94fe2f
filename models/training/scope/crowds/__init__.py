"""Names that nearly agree, relations that stand side by side, and facts that lack a word of the question."""
