"""The program that makes the pack `world` from its sources: `python -m models.training.packs`."""
