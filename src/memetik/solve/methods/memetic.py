"""The default search: a population of postures, evolved and refined by a bounded Levenberg-Marquardt search."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.solve.methods.checks import Count, Natural, Range, Share
from memetik.solve.methods.method import Native


@dataclass(frozen=True)
class Memetic(Native):
    """This product's own search; the defaults were measured (benchmarks/parameters.py).

    Its idea is BioIK's: a population of postures, evolved and improved by a local search (S. Starke, "Bio IK: A Memetic
    Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics", Universität Hamburg 2020). Islands of
    species that die, and mutations by a power of two drawn once per child, are those of BioIK 2 (P. Ruppel,
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
                      a child's genes are shifted by 2^-s of half their range, s drawn between these, once per child.
    damping           of the local search, times its squared error.
    max_step          largest change of a joint in one iteration, radians or metres.
    round_iterations  iterations of an island before the next one's turn.
    refine_patience   local optima of the preferences in a row that bring nothing better end their refinement.
    seed_patience     iterations that the seed's own basin may still take once another individual has an answer.
    closed_form       the pose of one link of an arm with six joints whose axes allow it (three parallel ones and two
                      that meet, or a spherical wrist) is solved in closed form; the posture nearest to the seed wins.
                      So is that of an arm with seven (a spherical shoulder, axes 5 and 6 that meet) where nothing else
                      is asked and the seed is farther from the target than 0.1 m or 0.5 rad: for the seed's angle of
                      the last joint, then for others.

    What follows is for scenes; each helps by itself, and all are on (docs/scenes.md has what each is worth).
    climb             postures that touch something are judged by how far along the robot, from its tip, nothing
                      touches, and the best is varied; three islands of four do so where `push` is on too.
    push              postures that touch something are pushed away from it, in the freedom that the musts leave.
    openings          a target inside a hollow body is first searched for through the body's opening, which is found
                      without being pointed out.
    neighbours        elements of a batch without seeds start from the answers of elements whose targets are near.
                      Without, element k of a batch equals the single solve with rng=(rng, k).
    """

    islands: Count = 4
    species: Count = 2
    population: Count = 8
    elites: Count = 4
    local_iterations: Count = 16
    stagnation: Count = 2
    progress: Share = 0.2
    random_share: Share = 0.5
    wipeout: Share = 0.1
    mutation_low: Annotated[float, Range(0.0, 60.0)] = 0.0
    mutation_high: Annotated[float, Range(0.0, 60.0)] = 6.0
    damping: Annotated[float, Range(0.0, 1e6)] = 5e-2
    max_step: Annotated[float, Range(1e-6, 1e6)] = 1.5
    round_iterations: Count = 12
    refine_patience: Count = 48
    seed_patience: Natural = 16
    closed_form: bool = True
    climb: bool = True
    push: bool = True
    openings: bool = True
    neighbours: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mutation_high < self.mutation_low:
            raise InvalidInputError(
                f"mutation_high of Memetic must not be below mutation_low, {self.mutation_low:g}, not "
                f"{self.mutation_high!r}."
            )

    def options(self) -> _core.SearchOptions:
        options = _core.SearchOptions()
        for f in fields(self):
            if hasattr(options, f.name):
                setattr(options, f.name, getattr(self, f.name))
        return options
