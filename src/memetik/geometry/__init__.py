"""One shape and its numbers: shapes, mesh files, fits and distances. Knows no robot."""
