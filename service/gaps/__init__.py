"""Questions that were not answered well, kept for curators."""
