"""The knowledge graph as a memory: the statements of edits about entities, and entities at one version."""
