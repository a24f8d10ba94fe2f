"""Reads spans of a text as answers, and tells whether the text answers at all; for all systems."""
