"""The knowledge graph as a memory: what an edit says of an entity, and what an entity is at one version."""
