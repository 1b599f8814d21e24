"""Importing this lets the scripts of this folder import those of the folder above: solvers, targets, setups."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1]))
