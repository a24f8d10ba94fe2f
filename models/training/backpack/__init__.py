"""The training of the Backpack checkpoint, and of a plain transformer of its size beside it."""
