"""Collision-free paths and plans."""
