"""The world: shapes, scenes, allowed pairs, exact checks, spheres, distance fields."""
