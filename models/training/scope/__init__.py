"""The training of the judge of the scope (`models/scope/judge.py`)."""
