"""Checkpoints as files: found, read without unpickling, and shown to be the ones that were written."""
