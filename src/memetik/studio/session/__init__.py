"""What the studio holds and does, without a browser."""
