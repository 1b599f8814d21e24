"""The default search: a population of postures, evolved and refined by a bounded Levenberg-Marquardt search."""

from __future__ import annotations

from dataclasses import dataclass, fields

from memetik import _core
from memetik.errors import InvalidInputError
from memetik.solve.methods.method import Native


@dataclass(frozen=True)
class Memetic(Native):
    """Parameters of the memetic search; the defaults were measured (benchmarks/parameters.py).

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

    islands: int = 4
    species: int = 2
    population: int = 8
    elites: int = 4
    local_iterations: int = 16
    stagnation: int = 2
    progress: float = 0.2
    random_share: float = 0.5
    wipeout: float = 0.1
    mutation_low: float = 0.0
    mutation_high: float = 6.0
    damping: float = 5e-2
    max_step: float = 1.5
    round_iterations: int = 12
    refine_patience: int = 48
    seed_patience: int = 16
    closed_form: bool = True
    climb: bool = True
    push: bool = True
    openings: bool = True
    neighbours: bool = True

    def __post_init__(self) -> None:
        for name in ("climb", "push", "openings", "neighbours"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInputError(f"{name} of Memetic is True or False, not {getattr(self, name)!r}.")
        for name, least in (("islands", 1), ("species", 1), ("population", 1), ("elites", 1), ("local_iterations", 1),
                            ("stagnation", 1), ("round_iterations", 1), ("refine_patience", 1),
                            ("seed_patience", 0)):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= 1_000_000:
                raise InvalidInputError(
                    f"{name} of Memetic must be a whole number from {least} to 1000000, not {value!r}."
                )
        if not isinstance(self.closed_form, bool):
            raise InvalidInputError(f"closed_form of Memetic is True or False, not {self.closed_form!r}.")
        for name, low, high in (("progress", 0.0, 1.0), ("random_share", 0.0, 1.0), ("wipeout", 0.0, 1.0),
                                ("damping", 0.0, 1e6), ("max_step", 1e-6, 1e6), ("mutation_low", 0.0, 60.0),
                                ("mutation_high", self.mutation_low, 60.0)):  # fmt: skip
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidInputError(f"{name} of Memetic must lie in {low:g}..{high:g}, not {value!r}.")

    def options(self) -> _core.SearchOptions:
        options = _core.SearchOptions()
        for f in fields(self):
            if hasattr(options, f.name):
                setattr(options, f.name, getattr(self, f.name))
        return options
