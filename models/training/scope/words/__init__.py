"""The learned weights of words: names, and slips for other names."""
