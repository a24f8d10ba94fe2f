"""The default ledger: an embedded Valkey in one folder, with a lock that keeps a second server away from its files."""
