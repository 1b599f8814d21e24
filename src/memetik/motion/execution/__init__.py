"""Trajectories become motion: drivers, simulation, recovery."""
