"""The one writer: it plans, builds, measures and appends commits, and answers questions about the ledger's state."""
