"""How the default checkpoint of kbert was made: `python -m models.training.kbert`."""
