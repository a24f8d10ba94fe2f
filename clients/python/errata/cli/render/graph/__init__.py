"""Pictures of the graph: entities, facts, imports, and rules about paths."""
