"""A description becomes a Robot."""
