"""The Model Context Protocol at /mcp: programs ask, look back and propose with the key of their caller."""
