"""Tuning of parameters."""
