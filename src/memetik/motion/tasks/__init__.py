"""Sequences of moves and grasps."""
