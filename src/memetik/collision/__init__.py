"""Collision models of a robot in a scene: fast, conservative, exact."""
