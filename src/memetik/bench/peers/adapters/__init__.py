"""Adapters, one peer a file; each is read by a worker in the peer's own environment and imports no memetik."""
