"""Imports a file of triples: its rows are resolved, spooled, packed into buckets and stored."""
