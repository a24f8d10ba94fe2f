"""A model behind a batch queue: a replica loads, catches up, takes snapshots and answers."""
