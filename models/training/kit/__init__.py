"""The parts that every training has: its command line, fingerprint, steps, progress, scale and card."""
