"""A file with many corrections: read and checked whole, then made commit by commit, with an account of every line."""
