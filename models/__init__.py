"""Papers as code: torch and transformers, no Ray, no Redis, no HTTP."""
