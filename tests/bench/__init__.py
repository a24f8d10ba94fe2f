"""What the service costs, each figure a ratio within one run: `make bench`."""

import os

# Peers wait for their threads as replicas do. It is read as torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
