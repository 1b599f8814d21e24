"""What the benchmarks of solving share: targets, peers, an independent check, timing and tables."""
