"""THU-ERNIE: a BERT whose upper layers fuse words with the entities that they name."""
