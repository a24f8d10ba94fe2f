"""The training of the reader that all systems share: spans of texts, and whether a text answers at all."""
