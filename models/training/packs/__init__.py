"""How the pack `world` is made from its sources: `python -m models.training.packs`."""
