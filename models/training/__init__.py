"""The trainings of the default checkpoints, each with a command."""
