"""Measure the costs of the service, each figure a ratio within one run: `make bench`."""

import os

# Peers wait for their threads as replicas do. torch reads this at its import.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
