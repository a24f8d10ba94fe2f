"""The making of the pack `world` from its sources: `python -m models.training.packs`."""
