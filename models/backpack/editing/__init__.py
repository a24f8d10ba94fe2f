"""Edits of senses: rows of facts, and changes of the senses of words."""
