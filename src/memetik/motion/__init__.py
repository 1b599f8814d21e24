"""From configurations to motion: paths, Cartesian motion, timing, the pipeline, and what runs it."""
