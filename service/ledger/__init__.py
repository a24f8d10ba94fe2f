"""The append-only list of commits, from which every version is rebuilt."""
