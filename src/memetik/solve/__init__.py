"""How postures are found."""
