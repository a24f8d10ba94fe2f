"""The default ledger: a Valkey of our own in one folder, locked so that two servers never write one file."""
