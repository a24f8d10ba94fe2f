"""`make bench-editing`: the product's edits and a plain cosine cache, on the same edits."""
