"""Rules about walks, as a memory that is edited."""
