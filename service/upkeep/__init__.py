"""The upkeep of edits: how often each answers, and when a person looks at it again."""
