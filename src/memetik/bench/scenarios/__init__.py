"""Scenarios: what solvers are compared on, by name or from a file, the same for the same seed on any machine."""

from memetik.bench.scenarios.build import scenario as scenario
from memetik.bench.scenarios.build import scenario_from as scenario_from
from memetik.bench.scenarios.recipes import SCENARIOS as SCENARIOS
from memetik.bench.scenarios.scenario import NOT_FOUND as NOT_FOUND
from memetik.bench.scenarios.scenario import REACHABLE as REACHABLE
from memetik.bench.scenarios.scenario import UNKNOWN as UNKNOWN
from memetik.bench.scenarios.scenario import Scenario as Scenario
