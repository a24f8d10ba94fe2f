"""`make bench-editing`: every method that edits the bank, through one harness, on the same edits."""
