"""How configurations are found."""
