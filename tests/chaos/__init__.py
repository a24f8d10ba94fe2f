"""The service under load while its parts are killed, frozen, filled up and damaged: `make chaos`."""
