"""A model behind a batch queue: it loads, catches up, takes snapshots and answers."""
