"""Commands that read or change the graph."""
