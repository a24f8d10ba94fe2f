"""Prometheus metrics: what they are, where processes keep them, and how they are read."""
