"""The training of the default checkpoint of kbert."""
