"""The service under load while its parts are killed, frozen, filled and damaged: `make chaos`."""
