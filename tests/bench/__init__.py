"""What the service costs, each figure a ratio within one run: `make bench`."""

import os

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # peers wait for their threads as replicas do; read as torch loads
