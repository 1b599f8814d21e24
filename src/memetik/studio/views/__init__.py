"""What the studio draws."""
