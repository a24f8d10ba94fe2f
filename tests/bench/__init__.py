"""What the service costs, each figure a ratio within one run: `make bench`."""
