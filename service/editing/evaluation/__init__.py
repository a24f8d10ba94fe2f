"""Measurements of a draft: expectations, side effects, fact tests, capacity; the report and the diff."""
