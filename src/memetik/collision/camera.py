"""What a depth camera sees, as points for a scene: in the world, without the robot itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik import _core
from memetik.collision.robot_spheres import FittedShape, fit_attached, fit_links
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import PoseLike, as_pose
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

Array = NDArray[np.float64]


def camera_points(
    depth: ArrayLike,
    intrinsics: Sequence[float],
    pose: PoseLike,
    *,
    robot: Robot | None = None,
    q: ArrayLike | None = None,
    scene: Scene | None = None,
    padding: float = 0.03,
    stride: int = 4,
    far: float = 5.0,
) -> Array:
    """Points (N, 3) in the world from a depth image; `scene.add_points(name, points, radius)` makes them obstacles.

    depth       (height, width) metres along the camera's axis; 0, NaN and infinity: nothing was seen.
    intrinsics  fx, fy, cx, cy in pixels.
    pose        of the camera in the world: z forward, x right, y down, as OpenCV and ROS's optical frames have it.
    robot, q    the robot in the picture: points within `padding` metres of its links are left out. Links count as the
                spheres and capsules that cover their collision shapes.
    scene       of which attached objects are left out like links.
    stride      every so many-th pixel of a row and of a column.
    far         metres beyond which points are left out.
    """
    image = np.ascontiguousarray(depth, dtype=np.float32)
    if image.ndim != 2 or not image.size:
        raise InvalidInputError(f"a depth image has two axes, (height, width), not the shape {image.shape}.")
    if len(intrinsics) != 4 or not np.isfinite(intrinsics).all() or min(intrinsics[:2]) <= 0.0:
        raise InvalidInputError(f"intrinsics are fx, fy, cx, cy in pixels, the first two positive, not {intrinsics!r}.")
    if stride < 1:
        raise InvalidInputError(f"stride must be 1 or more, not {stride}.")
    placed = np.ascontiguousarray(as_pose(pose, "the pose of the camera")[:3])
    numbers = (float(intrinsics[0]), float(intrinsics[1]), float(intrinsics[2]), float(intrinsics[3]))
    return _core.depth_points(image, numbers, placed, stride, float(far), _keepouts(robot, q, scene, padding))


def points_off_robot(
    points: ArrayLike, robot: Robot, q: ArrayLike | None = None, *, scene: Scene | None = None, padding: float = 0.03
) -> Array:
    """Of points (N, 3) in the world, those farther than `padding` metres from the robot at q and from what the scene
    attaches to it. Points that are not finite are left out. Links count as for `camera_points`."""
    array = np.ascontiguousarray(points, dtype=float)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInputError(f"points must have shape (N, 3), not {array.shape}.")
    return _core.points_outside(array, _keepouts(robot, q, scene, padding))


def _keepouts(robot: Robot | None, q: ArrayLike | None, scene: Scene | None, padding: float) -> Array:
    """(K, 7) start, end and radius of the bodies of a robot and of what is attached to it, in the world, grown."""
    if robot is None:
        return np.zeros((0, 7))
    if not 0.0 <= padding < np.inf:
        raise InvalidInputError(f"padding must be at least zero and finite, in metres, not {padding!r}.")
    at = robot.neutral if q is None else robot.check_q(q)
    attached = () if scene is None else scene.attached_objects
    shapes = [*_fitted_links(robot), *(fit_attached(robot, item, None) for item in attached)]
    rows = [np.zeros((0, 7))]
    for shape in shapes:
        pose = robot.pose(robot.links[shape.link], at)
        starts, ends = (x @ pose[:3, :3].T + pose[:3, 3] for x in (shape.fit.starts, shape.fit.ends))
        rows.append(np.column_stack([starts, ends, shape.fit.radii + (shape.padding + padding)]))
    return np.ascontiguousarray(np.concatenate(rows))


@lru_cache(maxsize=16)
def _fitted_links(robot: Robot) -> tuple[FittedShape, ...]:
    return tuple(fit_links(robot, {}, None))
