"""A model behind a batch queue: a replica loads it, catches up with the ledger, takes snapshots and answers."""
