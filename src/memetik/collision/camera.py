"""What a depth camera sees, as points for a scene: in the world, without the robot itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik.collision.robot_spheres import fit_links
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import PoseLike, as_pose
from memetik.robot.robot import Robot

Array = NDArray[np.float64]


def camera_points(
    depth: ArrayLike,
    intrinsics: Sequence[float],
    pose: PoseLike,
    *,
    robot: Robot | None = None,
    q: ArrayLike | None = None,
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
    stride      every so many-th pixel of a row and of a column.
    far         metres beyond which points are left out.
    """
    image = np.asarray(depth, dtype=float)
    if image.ndim != 2 or not image.size:
        raise InvalidInputError(f"a depth image has two axes, (height, width), not the shape {image.shape}.")
    if len(intrinsics) != 4 or not np.isfinite(intrinsics).all() or min(intrinsics[:2]) <= 0.0:
        raise InvalidInputError(f"intrinsics are fx, fy, cx, cy in pixels, the first two positive, not {intrinsics!r}.")
    if stride < 1:
        raise InvalidInputError(f"stride must be 1 or more, not {stride}.")
    fx, fy, cx, cy = (float(value) for value in intrinsics)
    rows, columns = np.mgrid[0 : image.shape[0] : stride, 0 : image.shape[1] : stride]
    z = image[::stride, ::stride]
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(z) & (z > 0.0) & (z <= far)
    z = z[seen]
    local = np.stack([(columns[seen] - cx) / fx * z, (rows[seen] - cy) / fy * z, z], axis=1)
    placed = as_pose(pose, "the pose of the camera")
    points = local @ placed[:3, :3].T + placed[:3, 3]
    if robot is None:
        return points
    return points[~_on_robot(points, robot, robot.neutral if q is None else robot.check_q(q), padding)]


def _on_robot(points: Array, robot: Robot, q: Array, padding: float) -> NDArray[np.bool_]:
    """Which points lie on the robot or within the padding."""
    on = np.zeros(len(points), dtype=bool)
    for shape in fit_links(robot, {}, None):
        pose = robot.pose(shape.name, q)
        starts, ends = (x @ pose[:3, :3].T + pose[:3, 3] for x in (shape.fit.starts, shape.fit.ends))
        for a, b, radius in zip(starts, ends, shape.fit.radii, strict=True):
            left = np.flatnonzero(~on)
            along = b - a
            t = np.clip((points[left] - a) @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
            gap = np.linalg.norm(points[left] - a - t[:, None] * along, axis=1)
            on[left[gap < radius + padding]] = True
    return on
