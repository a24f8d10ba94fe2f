"""Turns a file of triples into an import: its rows are resolved, spooled, packed into buckets and stored."""
