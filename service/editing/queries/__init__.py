"""Queries that the editor answers from its state: versions, entities, documents, senses, scopes."""
