"""The order of work: questions in batches, callers in turns, commits before other work of the editor."""
