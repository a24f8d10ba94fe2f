"""Backs up all data of a service into one file, and restores it."""
