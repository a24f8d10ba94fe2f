"""A file of triples becomes an import: its rows resolved, spooled, packed into buckets and stored."""
