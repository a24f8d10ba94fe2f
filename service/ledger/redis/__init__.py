"""The way to Redis: one server, a cluster, or a master watched by Sentinels, all behind one client."""
