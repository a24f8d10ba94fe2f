"""Editors: (model, edits) -> row writes. Pure computation; nothing here stores anything."""
