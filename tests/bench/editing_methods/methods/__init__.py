"""Editing methods that the served ones are compared with: (bank, edits, active edits) -> rows and a report."""
