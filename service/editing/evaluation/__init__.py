"""What a draft does, measured: expectations, side effects, fact tests, capacity; the report and the diff."""
