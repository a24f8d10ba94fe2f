"""The knowledge graph as the service keeps it: names, statements and imports, found and stored."""
