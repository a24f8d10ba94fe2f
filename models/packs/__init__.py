"""Packs of facts: what the models are trained on and the graph is filled with."""
