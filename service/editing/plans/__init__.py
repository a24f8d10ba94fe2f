"""Plans of commits: each drafts what a caller asks for on the newest version."""
