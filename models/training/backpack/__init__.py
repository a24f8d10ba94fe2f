"""The training of the Backpack checkpoint."""
