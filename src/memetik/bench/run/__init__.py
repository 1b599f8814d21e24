"""Running a benchmark: specification, workers, verification, store."""
