"""Edits that are stored and not live, until the holder of another key approves them."""
