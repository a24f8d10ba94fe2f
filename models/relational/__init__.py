"""The relational reader: answers over several facts by attention along the edges of a graph."""
