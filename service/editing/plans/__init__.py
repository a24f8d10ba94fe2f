"""What is asked for, as plans: each drafts a commit on the newest version."""
