"""The upkeep of edits: how often each answers."""
