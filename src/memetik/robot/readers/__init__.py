"""Readers of robot descriptions and of what goes with them, one format a file."""
