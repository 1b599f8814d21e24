"""Reach studies: which targets on a surface a robot reaches, and from where."""

from memetik.bench.reach.study import ReachSetup as ReachSetup
from memetik.bench.reach.study import reach_study as reach_study
