"""The append-only list of commits, which is the only truth: every version is rebuilt from it."""
