"""How the judge of the scope was trained (`models/scope/judge.py`)."""
