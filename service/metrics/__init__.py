"""Prometheus metrics: their names, the files of each process, and the pages that show them."""
