"""Senses for people: words by their senses, and the sense that carries the difference between two words."""
