"""Which names of the graph stand in a text."""
