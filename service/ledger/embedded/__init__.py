"""The default ledger: an embedded Valkey in one folder, locked so that two servers never write one file."""
