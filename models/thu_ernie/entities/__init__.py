"""The entity table of THU-ERNIE: its files, its rows at one version, and the memory that edits them."""
