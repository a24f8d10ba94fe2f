"""The training of the default checkpoint of kbert: `python -m models.training.kbert`."""
