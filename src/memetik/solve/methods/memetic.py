"""The default search: a population of configurations, evolved and refined by a bounded Levenberg-Marquardt search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.solve.methods.method import Native
from memetik.solve.methods.native import FROM_CORE, core_struct, defaults_from
from memetik.solve.methods.parameters import Count, Natural, Range, Share


@dataclass(frozen=True)
@defaults_from(_core.MemeticOptions)
class Memetic(Native):
    """This product's own search; the defaults were measured (benchmarks/parameters.py).

    Its idea is BioIK's: a population of configurations, evolved and improved by a local search (S. Starke, "Bio IK: A
    Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics", Universität Hamburg 2020). Islands
    of species that die, and mutations by a power of two drawn once per child, are those of BioIK 2 (P. Ruppel,
    "Performance optimization and implementation of evolutionary inverse kinematics in ROS", Universität Hamburg 2017).
    Here every individual goes to its local optimum at once, eight side by side, by the method of Levenberg (1944) and
    Marquardt (1963) within the limits: steps that minimise |J dq + r|^2 + damping |r|^2 |dq|^2, J exact, dq in the
    scales of the joints.

    islands           independent populations. Threads carry them; their number does not change the result.
    species           sub-populations of an island that only breed among themselves.
    population        individuals kept by each species: the best local optima, one for each niche.
    elites            of these, how many may be mothers.
    local_iterations  longest local search.
    stagnation        iterations in a row with less than `progress` that end a local search.
    progress          share of the squared error that an iteration should take away.
    random_share      share of new starts drawn at random; the others are bred from the population.
    wipeout           chance that the worse species dies when a local search brings nothing new.
    mutation_low, mutation_high
                      a child's joints are shifted by 2^-s of half their range, s drawn between these, once per child.
    damping           of the local search, times its squared error.
    max_step          largest change of a joint in one iteration, radians or metres.
    round_iterations  iterations of an island before the next one's turn.
    refine_patience   local optima of the soft goals in a row that bring nothing better end their refinement.
    seed_patience     iterations that the seed's own basin may still take once another individual has an answer.
    closed_form       the pose of one link of an arm with six joints whose axes allow it (three parallel ones and two
                      that meet, or a spherical wrist) is solved in closed form; the configuration nearest to the seed
                      wins. So is that of an arm with seven (a spherical shoulder, axes 5 and 6 that meet) where nothing
                      else is asked and the seed is farther from the target than 0.1 m or 0.5 rad: for the seed's angle
                      of the last joint, then for others.

    What follows is for scenes; each helps by itself, and all are on (docs/scenes.md has what each is worth).
    climb             configurations that touch something are judged by how far along the robot, from its tip, nothing
                      touches, and the best is varied; three islands of four do so where `push` is on too.
    push              configurations that touch something are pushed away from it, in the freedom that the hard goals
                      leave.
    openings          a target inside a hollow body is first searched for through the body's opening, which is found
                      without being pointed out.
    neighbours        elements of a batch without seeds start from the answers of elements whose targets are near.
                      Without, element k of a batch equals the single solve with rng=(rng, k).
    """

    islands: Count = FROM_CORE
    species: Count = FROM_CORE
    population: Count = FROM_CORE
    elites: Count = FROM_CORE
    local_iterations: Count = FROM_CORE
    stagnation: Count = FROM_CORE
    progress: Share = FROM_CORE
    random_share: Share = FROM_CORE
    wipeout: Share = FROM_CORE
    mutation_low: Annotated[float, Range(0.0, 60.0)] = FROM_CORE
    mutation_high: Annotated[float, Range(0.0, 60.0)] = FROM_CORE
    damping: Annotated[float, Range(0.0, 1e6)] = FROM_CORE
    max_step: Annotated[float, Range(1e-6, 1e6)] = FROM_CORE
    round_iterations: Count = FROM_CORE
    refine_patience: Count = FROM_CORE
    seed_patience: Natural = FROM_CORE
    closed_form: bool = FROM_CORE
    climb: bool = FROM_CORE
    push: bool = FROM_CORE
    openings: bool = True
    neighbours: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mutation_high < self.mutation_low:
            raise InvalidInputError(
                f"mutation_high of Memetic must not be below mutation_low, {self.mutation_low:g}, not "
                f"{self.mutation_high!r}."
            )

    def options(self) -> _core.SolveOptions:
        return _core.SolveOptions(memetic=core_struct(_core.MemeticOptions, self))
