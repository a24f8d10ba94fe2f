"""The training of ernie-doc's default checkpoint: `python -m models.training ernie-doc`."""
