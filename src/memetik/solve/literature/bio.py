"""The memetic algorithms called BioIK, and PickIK, which comes from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.goals.pose import ROTATION_SCALE
from memetik.solve.methods.native import CoreMethod
from memetik.solve.methods.parameters import MOST, Natural, Range, Share, check_value

Rotation = Literal["square_distance", "dot_product", "square_angle", "sine"]
Combination = Literal["squares", "rmse", "mean"]
Local = Literal["none", "quadratic", "linear", "lbfgs"]
Mode = Literal["global", "local"]
EliteSelection = Literal["best", "rank"]

Pair = Annotated[int, Range(2, MOST)]
"""Individuals of which two can be parents."""

MOST_PARALLEL = 16
"""Elites that have a thread each."""


@dataclass(frozen=True)
class Bio2(CoreMethod, method="bio2"):
    """BioIK 2: P. Ruppel, "Performance optimization and implementation of evolutionary inverse kinematics in ROS",
    Universität Hamburg 2017; parameters as in T. Engelke, "Benchmarking and Improving Inverse Kinematics for Endoscopic
    Inspection Tasks", Universität Hamburg 2024.

    Islands of two species. A child is its better parent, its momentum times 0, 1 or 2, and a mutation r 2^-s of the
    joints' ranges: r normal for each gene, s a whole number drawn once per child. The best of children and parents
    survive; with soft goals, a random number of children is selected by these first. After some generations the best
    of a species goes down the numeric gradient. All this by kinematics extrapolated to first order from the best of the
    species, anew in each step. Species that are not the best die where they do not improve, or by chance.

    population             individuals of a species.
    children               of a generation.
    elites                 individuals that the local search improves.
    islands                independent populations (the source's threads).
    species                of an island.
    evolution_generations  of a step.
    local_generations      iterations of the local search in a step.
    local                  "quadratic": to the extremum of a parabola along the gradient; "linear": to where a line
                           along it is zero; "lbfgs"; "none".
    mutation_low, mutation_high
                           least and greatest s.
    wipeout                chance that a species that is not the best dies though it improved.
    rotation               measure of rotations: "square_distance" min |Q1 -+ Q2|^2, "dot_product" 1 - Q1.Q2 of unit
                           quaternions, "square_angle", or "sine" sin(angle / 2)^2.
    rotation_scale         factor of rotations on top of their goals' metres per radian.
    mutate_per_gene        draw s for each gene.
    swarm                  momentum.
    wipeouts               whether species die.
    random_start           islands but the first start from random configurations, not from the seed.
    extrapolate            False: exact kinematics throughout.
    """

    population: int = 2
    children: Natural = 16
    elites: Natural = 1
    islands: int = field(default=4, kw_only=True)
    free_turns: bool = field(default=True, kw_only=True)
    species: int = 2
    evolution_generations: Natural = 8
    local_generations: Natural = 8
    local: Local = "quadratic"
    mutation_low: Natural = 8
    mutation_high: Natural = 23
    wipeout: Share = 0.1
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0
    mutate_per_gene: bool = False
    swarm: bool = True
    wipeouts: bool = True
    random_start: bool = False
    extrapolate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_value("mutation_high of Bio2", self.mutation_high, Annotated[int, Range(self.mutation_low, MOST)])


@dataclass(frozen=True)
class Bio1(CoreMethod, method="bio1"):
    """Bio IK: S. Starke, "Bio IK: A Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics",
    Universität Hamburg 2020.

    Parents are selected by rank; a child is their random interpolation plus their momenta, mutated the more the nearer
    its parents are to extinction (0 for the best, 1 for the worst), and drawn to its parents and to a prototype
    (adoption). Parents that a child surpasses leave the mating pool (niching). Elites are improved by L-BFGS within the
    limits. Where the solution was not replaced and no elite improved, the population starts anew around the solution
    (wipe-out); this is judged by the goals' own weights.

    Fitness: sqrt(1/k sum_j w_j L_j^2) over k goals, positions as L = pi d / sqrt((chain + d) (reach + d)), both from
    the chain's own root, which a free base takes along; rotations and look-at as their angle. w_j is the square of the
    goal's `weight`, which multiplies its error, times a random weight of the generation.

    population       individuals (the source recommends 50 to 150).
    elites           individuals that the local search improves (2 to 5).
    elite_selection  "best": the best individuals, as S. Starke, N. Hendrich and J. Zhang, 2019, have it; "rank": the
                     best, and others by rank, as the dissertation prints it. Individuals drawn by rank improve nearly
                     always: with them there is hardly a wipe-out, and stuck runs stay stuck.
    exploitation     steps of the local search of an elite in a generation; 0: a sixth of the number of offspring,
                     which is about what they get on threads of their own while these are made.
    parallel_elites  improve elites on threads of their own while the offspring are made: as many as `threads` of the
                     solve has beyond one for each island. It changes no answer; 16 elites at most, populations up to
                     1024. Goals in Python are asked by one thread at a time, so that with them it does nothing.
    numeric_gradient by differences, as in the source; False: by the goals' Jacobians.
    combination      "rmse" as above, "mean" of the losses, or "squares", their sum.
    normalized       positions as above; False: metres.
    rotation, rotation_scale
                     measure of rotations, and its factor; the default undoes the metres per radian of goals.
    random_weights   objectives are weighted anew in each generation, by (1 + U_j / mean U) / 2.
    adoption, exploit, wipeout
                     switches of the ablations.
    """

    population: Pair = 100
    elites: int = 3
    elite_selection: EliteSelection = "best"
    exploitation: Natural = 0
    numeric_gradient: bool = True
    combination: Combination = "rmse"
    normalized: bool = True
    rotation: Rotation = "square_angle"
    rotation_scale: float = 1.0 / ROTATION_SCALE
    random_weights: bool = True
    adoption: bool = True
    exploit: bool = True
    wipeout: bool = True
    parallel_elites: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_elites(self)
        if self.parallel_elites and self.elites > MOST_PARALLEL:
            raise InvalidInputError(f"parallel_elites serves up to {MOST_PARALLEL} elites, not {self.elites}.")


@dataclass(frozen=True)
class Bio1Ros(CoreMethod, method="bio1_ros"):
    """BioIK 1 as it was brought to ROS: P. Ruppel 2017, chapters 2.10 and 3.3; it is the hybrid genetic swarm algorithm
    of S. Starke, 2016.

    Random interpolation of parents; momentum scaled by random vectors; normal mutation whose size is a heuristic error,
    the tips' distance from their goals in chain lengths; for elites, a random change of each gene in both directions.

    population   individuals.
    elites       how many are exploited and kept.
    combination  "squares": the quadratic fitness; "mean": the original, linear one, (1 - U) distance + U s angle of
                 each pose, with a random number U at each evaluation. The scale s, of which the source says that it
                 depends on the size, is the length of the chain over a half turn.
    rotation, rotation_scale
                 measure of rotations in the quadratic fitness, and its factor; the linear one has the angle, scaled as
                 above times that factor.
    """

    population: Pair = 8
    elites: int = 4
    free_turns: bool = field(default=True, kw_only=True)
    combination: Combination = "squares"
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0

    def fitness_options(self) -> _core.FitnessOptions:
        fitness = super().fitness_options()
        if self.combination != "mean":
            return fitness
        return fitness.replace(
            rotation=_core.RotationMeasure.square_angle, rotation_scale=self.rotation_scale / ROTATION_SCALE
        )


@dataclass(frozen=True)
class Pick(CoreMethod, method="pick"):
    """PickIK by PickNik Robotics, as described with its deviations from BioIK in T. Engelke, "Benchmarking and
    Improving Inverse Kinematics for Endoscopic Inspection Tasks", Universität Hamburg 2024.

    Global: elites go down the numeric gradient with linear steps, and are the only parents, each as likely as the
    others; children inherit no gradient; where the best gains less than `wipeout_tolerance` all are replaced, the best
    too. Local: the descent alone. Its steps are taken even where they make things worse, and the best on the way is
    kept. Kinematics are exact. It was made for 1e-3: `wipeout_tolerance` is in squares, so that at a few
    millimetres one descent has to come to the tolerance, or all is lost.

    mode                   "global" or "local".
    population, elites     individuals, and how many of them are parents.
    local_iterations       of an elite's descent in a generation.
    local_only_iterations  of a descent in local mode.
    generations            of a run.
    wipeout_tolerance      least gain in fitness of a generation.
    difference             of the central difference quotients, radians or metres.
    least_progress         least change of the fitness in an iteration of the descent.
    """

    mode: Mode = "global"
    population: int = 16
    elites: int = 4
    local_iterations: int = 25
    local_only_iterations: int = 100
    generations: int = 100
    wipeout_tolerance: float = 1e-5
    difference: float = 1e-4
    least_progress: float = 1e-12
    rotation: Rotation = "square_angle"
    rotation_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_elites(self)


def _check_elites(method: Bio1 | Pick) -> None:
    if method.elites > method.population:
        raise InvalidInputError(
            f"{method.label()} has {method.population} individuals and cannot have {method.elites} elites."
        )
