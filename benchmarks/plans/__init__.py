"""Problems, checks and peers of the planning benchmarks."""
