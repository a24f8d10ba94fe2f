"""The running service: HTTP in, answers out."""
