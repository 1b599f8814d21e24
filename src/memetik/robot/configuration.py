"""Configurations: vectors q made from names, read as names, checked, clipped and drawn at random."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.model import RobotModel

JointValues = ArrayLike | Mapping[str, ArrayLike]
"""A configuration, or values of some joints by name."""


class ConfigurationSpace(RobotModel):
    """The vectors q of a robot: `dof` entries, in the order of `joint_names`."""

    __slots__ = ()

    def q(self, values: JointValues | None = None, default: ArrayLike | None = None) -> np.ndarray:
        """A configuration (dof,) from joint values by name; the others are those of `default`, else neutral.

        values: a mapping from the names in `joint_names` to numbers, or from the name of a joint with several axes to
        one number per axis; or a complete vector, which is checked and copied. Values of mimic joints may be among
        them, as joint state messages have them, if they agree with their master's to 1e-6.
        """
        result = self.neutral.copy() if default is None else self.check_q(default).copy()
        if result.ndim != 1:
            raise InvalidInputError(f"default must be one configuration of shape ({self.dof},), not {result.shape}.")
        if values is None:
            return result
        if not isinstance(values, Mapping):
            vector = self.check_q(values)
            if vector.ndim != 1:
                raise InvalidInputError(f"q must be one configuration of shape ({self.dof},), not {vector.shape}.")
            return vector.copy()
        followers: dict[str, float] = {}
        for name, value in values.items():
            joint = self.tree.topology.joints.get(name)
            if joint is not None and joint.mimic is not None:
                followers[name] = float(self._joint_values(name, value, 1)[0])
            elif joint is not None and joint.axes:
                first = self.tree.couplings[name].first
                result[first : first + joint.axes] = self._joint_values(name, value, joint.axes)
            elif joint is not None:
                raise InvalidInputError(f"joint {name!r} of robot {self.name!r} is fixed and has no value.")
            elif name in self.joint_names:
                result[self.joint_names.index(name)] = self._joint_values(name, value, 1)[0]
            else:
                choices = dict.fromkeys([*self.joint_names, *self.tree.couplings])
                raise UnknownNameError("joint", name, f"robot {self.name!r}", choices)
        self._check_followers(result, followers)
        return result

    def joints(self, q: ArrayLike, *, mimic: bool = False) -> dict[str, float]:
        """The entries of one configuration by name; with `mimic`, the values of the mimic joints too."""
        q = self.check_q(q)
        if q.ndim != 1:
            raise InvalidInputError(f"joints() reads one configuration of shape ({self.dof},), not {q.shape}.")
        result = dict(zip(self.joint_names, q.tolist(), strict=True))
        if mimic:
            for joint in self.description.joints:
                if joint.mimic is not None:
                    result[joint.name] = self._follower_value(joint.name, q)
        return result

    def state(self, name: str, group: str | None = None, default: ArrayLike | None = None) -> np.ndarray:
        """The configuration (dof,) that SRDF names so; where several groups name one so, all of them together.

        Joints that it does not mention have the values of `default`, else neutral ones.
        """
        states = self.description.semantics.states
        chosen = [state for state in states if state.name == name and group in (None, state.group)]
        if not chosen:
            owner = f"robot {self.name!r}" + (f", group {group!r}" if group else "")
            choices = dict.fromkeys(state.name for state in states if group in (None, state.group))
            raise UnknownNameError("state", name, owner, choices)
        result = self.q(default=default)
        for state in chosen:
            result = self.q(state.values, default=result)
        return result

    @property
    def named_states(self) -> tuple[str, ...]:
        """The names of SRDF's named configurations."""
        return tuple(dict.fromkeys(state.name for state in self.description.semantics.states))

    def random(self, rng: int | np.random.Generator | None = None, n: int | None = None) -> np.ndarray:
        """Uniformly random configurations within the limits: (dof,), or (n, dof).

        Angles without limits are drawn within a turn (-pi to pi), distances without limits from -1 to 1 m; where only
        one limit is infinite, within a turn or 2 m of the other.
        """
        generator = np.random.default_rng(rng)
        low, high = self.sampling_range
        return generator.uniform(low, high, size=(self.dof,) if n is None else (n, self.dof))

    def clip(self, q: ArrayLike) -> np.ndarray:
        """The nearest configurations within the limits."""
        return np.clip(self.check_q(q), self.lower, self.upper)

    def within_limits(self, q: ArrayLike, tolerance: float = 0.0) -> bool | np.ndarray:
        """Whether every entry is within its limits: a bool, or an array (N,) of them for several configurations."""
        q = self.check_q(q)
        inside = ((q >= self.lower - tolerance) & (q <= self.upper + tolerance)).all(axis=-1)
        return bool(inside) if inside.ndim == 0 else inside

    def check_q(self, q: ArrayLike, name: str = "q", *, finite: bool = True) -> np.ndarray:
        """q as a contiguous array of shape (dof,) or (N, dof); an error that names what is wrong otherwise.

        finite: whether to look for values that are not finite; the core notices them by itself.
        """
        try:
            array = np.ascontiguousarray(q, dtype=np.float64)
        except (TypeError, ValueError):
            hint = "; robot.q(...) makes a vector from a mapping" if isinstance(q, Mapping) else ""
            raise InvalidInputError(f"{name} must be numbers, not {type(q).__name__}{hint}.") from None
        if array.ndim > 2 or array.shape[-1] != self.dof or (self.dof == 1 and np.ndim(q) == 0):
            listed = ", ".join(self.joint_names[:12]) + (", ..." if self.dof > 12 else "")
            raise InvalidInputError(
                f"{name} has shape {np.shape(q)}; robot {self.name!r} needs ({self.dof},) or (N, {self.dof}), "
                f"one entry for each of: {listed}."
            )
        if finite and not _surely_finite(array) and not np.isfinite(array).all():
            where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            row = f" in configuration {where[0]}" if array.ndim == 2 else ""
            raise InvalidInputError(
                f"{name} has the value {array[where]} for joint {self.joint_names[where[-1]]!r}{row}; "
                "all values must be finite."
            )
        return array

    def _joint_values(self, name: str, value: ArrayLike, count: int) -> np.ndarray:
        try:
            array = np.atleast_1d(np.asarray(value, dtype=float))
        except (TypeError, ValueError):
            raise InvalidInputError(f"the value of joint {name!r} must be a number, not {value!r}.") from None
        if array.shape != (count,):
            wanted = "one number" if count == 1 else f"{count} numbers, one per axis"
            raise InvalidInputError(f"joint {name!r} needs {wanted}, not {value!r}.")
        if not np.isfinite(array).all():
            raise InvalidInputError(f"the value {value!r} of joint {name!r} is not finite.")
        return array

    def _check_followers(self, q: np.ndarray, followers: dict[str, float]) -> None:
        for name, value in followers.items():
            follows = self._follower_value(name, q)
            if abs(value - follows) > 1e-6:
                master = self.joint_names[self.tree.couplings[name].first]
                raise InvalidInputError(
                    f"joint {name!r} mimics {master!r} and is {follows:g} there, not {value:g}; set {master!r} instead."
                )

    def _follower_value(self, name: str, q: np.ndarray) -> float:
        coupling = self.tree.couplings[name]
        return float(coupling.multiplier * q[coupling.first] + coupling.offset)

    @property
    def sampling_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Finite ranges, (dof,) each, that random configurations come from."""
        span = np.where(self.turning, 2.0 * np.pi, 2.0)
        no_low, no_high = np.isinf(self.lower), np.isinf(self.upper)
        low = np.where(no_low, np.where(no_high, -0.5 * span, self.upper - span), self.lower)
        high = np.where(no_high, np.where(no_low, 0.5 * span, self.lower + span), self.upper)
        return low, high


def _surely_finite(array: np.ndarray) -> bool:
    """Quick: True only if all values are finite; False also where their sum of squares overflows."""
    if array.size < 64:
        return math.isfinite(sum(array.ravel().tolist()))
    flat = array.ravel()
    with np.errstate(over="ignore"):
        return math.isfinite(np.dot(flat, flat))
