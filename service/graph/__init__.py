"""The knowledge graph of the service: names, statements and imports, found and stored."""
