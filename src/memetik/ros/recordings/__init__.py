"""Recordings: plans, executions and tracker runs as MCAP, and trajectories out of MCAP files and ROS bags."""
