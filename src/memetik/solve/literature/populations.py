"""Populations without derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from memetik.solve.literature.bio import Rotation
from memetik.solve.methods.native import CoreMethod
from memetik.solve.methods.parameters import Range, Share


@dataclass(frozen=True)
class De(CoreMethod, method="differential"):
    """Differential evolution for inverse kinematics, after the stochastic solver of a tool chain for manipulators built
    on KDL; the mutation printed there lacks its base vector, which is added.

    donor = r1 + first (r1 - r2) + second (best - r1) with random r1 and r2; a trial takes each joint from its donor
    with the chance `crossover`, one of them always; the better of trial and individual stays, ties go to the trial. A
    run ends when a share of the individuals has converged; then all of them that meet the goals are candidates, the
    best first, and one that is turned away is followed by the next. Only when all are used up a new run starts, from a
    random population; after some failures runs grow, in iterations and individuals in turn.

    Fitness: sum of (weight |p - p_target|)^2 over positions and (weight m 2 sin(angle / 2))^2 over rotations, where m
    is the goal's rotation_scale (metres per radian) times that of the method; the source's factors are not printed.

    population        individuals, 512 at most.
    generations       of a run.
    first, second     factors of the donor.
    crossover         chance of a donor's gene.
    converged         fitness below which an individual counts as converged, if it also meets the goals within their
                      tolerances: the source's 1e-6 is a millimetre.
    share             of the individuals that ends a run.
    patience          runs that fail before the effort grows.
    more_generations, more_individuals
                      factors by which it grows.
    """

    population: Annotated[int, Range(4, 512)] = 30
    generations: int = 300
    first: float = 0.5
    second: float = 0.5
    crossover: Share = 0.8
    converged: float = 1e-6
    share: Share = 0.1
    patience: int = 2
    more_generations: float = 1.5
    more_individuals: float = 1.5
    rotation: Rotation = "sine"
    rotation_scale: float = 1.0


@dataclass(frozen=True)
class Pso(CoreMethod, method="swarm"):
    """Particle swarm optimisation (J. Kennedy and R. Eberhart, 1995) with inertia.

    v <- inertia v + own U (own best - q) + near U (best of the ring's neighbours - q) + all U (best of all - q), q <-
    clip(q + v); a particle that meets a limit stops there. The first particle starts at the seed.

    particles   in the swarm.
    neighbours  on each side of the ring.
    patience    iterations in a row in which the best gains less than 1 %, after which the swarm starts anew.
    """

    particles: int = 40
    neighbours: int = 2
    inertia: float = 0.72
    own: float = 1.49
    near: float = 0.75
    all: float = 0.75
    patience: int = 60
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0


@dataclass(frozen=True)
class Ga(CoreMethod, method="genetic"):
    """A genetic algorithm on real numbers (J. Holland, 1975; blend crossover after L. Eshelman and J. Schaffer, 1993).

    Parents by rank, crossover beyond the parents by a quarter, normal mutation of random size, elites kept.

    population      individuals.
    elites          kept unchanged.
    mutation_rate   chance of a gene to mutate.
    mutation_scale  largest deviation of a mutation, in ranges.
    crossover       chance of a child to have two parents.
    patience        generations in a row in which the best gains less than 1 %, after which the population starts anew.
    """

    population: int = 60
    elites: int = 4
    mutation_rate: Share = 0.2
    mutation_scale: float = 0.005
    crossover: Share = 0.9
    patience: int = 100
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0
