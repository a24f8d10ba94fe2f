"""The linking of texts: the names of the graph are found in them."""
