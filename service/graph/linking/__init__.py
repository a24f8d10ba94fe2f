"""Finds the names of the graph in a text."""
