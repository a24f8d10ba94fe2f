"""The training and measurement of the relational reader's checkpoint."""
