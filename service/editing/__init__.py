"""The one writer: an edit becomes rows, rows are measured, and what was measured becomes a commit."""
