"""PickIK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from memetik.errors import InvalidInputError
from memetik.solve.methods.bio import Rotation
from memetik.solve.methods.native import CoreMethod

Mode = Literal["global", "local"]


@dataclass(frozen=True)
class Pick(CoreMethod):
    """PickIK by PickNik Robotics, as described with its deviations from BioIK in T. Engelke, "Benchmarking and
    Improving Inverse Kinematics for Endoscopic Inspection Tasks", Universität Hamburg 2024.

    Global: elites go down the numeric gradient with linear steps, and are the only parents, each as likely as the
    others; children inherit no gradient; where the best gains less than `wipeout_tolerance` all are replaced, the best
    too. Local: the descent alone. Its steps are taken even where they make things worse, and the best posture on the
    way is kept. Kinematics are exact. It was made for 1e-3: `wipeout_tolerance` is in squares, so that at a few
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

    KIND: ClassVar[str] = "pick"
    BLOCK: ClassVar[str] = "pick"
    CHOICES: ClassVar[Mapping[str, Any]] = {"mode": Mode, "rotation": Rotation}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elites > self.population:
            raise InvalidInputError(f"Pick has {self.population} individuals and cannot have {self.elites} elites.")
