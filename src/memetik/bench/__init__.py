"""Solvers, scenes and robots compared: scenarios, adapters, a runner that trusts nobody, and a store of results."""
