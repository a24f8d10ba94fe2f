"""Who goes next: questions in batches, callers in turns, commits before other work of the editor."""
