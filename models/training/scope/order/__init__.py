"""Questions whose words are the same and whose order makes the difference: two names, or a figure with its signs."""
