"""The commands of `errata`, one file a command or a few that share their subject."""
