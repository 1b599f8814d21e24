"""A welding seam of 200 poses with free spin, on a UR5 and a Panda.

    python benchmarks/seam.py [--poses 200] [--robots ur5,panda] [--speed 0]

The seam winds over a pipe; the torch points into it with 15 degrees of lead, its spin about its own axis free. Prints
whether the seam was followed whole, the largest step of a joint, how far the wire's end leaves the seam, the torch's
angle error, times, and what touches what, sampled at 1 kHz with Pinocchio's kinematics and coal's geometry: nothing may
touch the pipe but the torch.
"""

import argparse
import time

import numpy as np
from plans.problems import IndependentCheck, plain_urdf

import memetik as mk
from memetik.motion.planning.cartesian import waypoints

RADIUS, LEAD = 0.12, np.radians(15.0)
PLACES = {"ur5": (0.45, 0.0, 0.25), "panda": (0.45, 0.0, 0.15)}
STARTS = {
    "ur5": [0.0, -1.8, 1.6, -1.4, -1.57, 0.0],
    "panda": [0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8],
}


def seam(centre, count):
    """Poses (count, 4, 4) on the pipe: z into the surface with the lead, x along the seam."""
    s = np.linspace(0.0, 1.0, count)
    angle = np.radians(35.0) * np.sin(2.0 * np.pi * s)
    along = -0.16 + 0.32 * s
    normals = np.stack([np.sin(angle), np.zeros(count), np.cos(angle)], axis=1)
    points = np.asarray(centre) + RADIUS * normals
    points[:, 1] += along
    tangents = np.gradient(points, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    poses = np.tile(np.eye(4), (count, 1, 1))
    for k in range(count):
        z = -np.cos(LEAD) * normals[k] + np.sin(LEAD) * tangents[k]
        x = tangents[k] - (tangents[k] @ z) * z
        x /= np.linalg.norm(x)
        poses[k, :3, 0], poses[k, :3, 1], poses[k, :3, 2], poses[k, :3, 3] = x, np.cross(z, x), z, points[k]
    return poses


def cell(name):
    """The arm with a torch, and the scene with the pipe, which the torch may touch."""
    robot = mk.load_robot(name)
    if name == "panda":
        robot = robot.group("panda_arm")
    reach = mk.transform((0.0, 0.0, 0.18), rpy=(0.0, np.radians(25.0), 0.0))
    body = (mk.Capsule(0.012, 0.12), mk.transform((0.0, 0.0, -0.08)))
    robot = robot.with_tool(reach, name="torch", link="tool0" if name == "ur5" else "panda_hand_tcp", collisions=[body])
    links = [link.name for link in robot.description.links]
    near = links[-6:-1] if name == "ur5" else ["panda_hand", "panda_leftfinger", "panda_rightfinger", "panda_link7"]
    robot = robot.with_disabled_pairs([("torch", link) for link in near if link in links])
    scene = mk.Scene()
    turned = mk.transform(PLACES[name], rpy=(np.pi / 2.0, 0.0, 0.0))
    scene.add_cylinder("pipe", RADIUS, 0.5, turned)
    scene.allow("torch", "pipe")
    return robot, scene


def measure(plan, robot, scene, poses):
    """Deviation, angle, joint step and contacts on a sampling of 1 kHz."""
    t = np.arange(0.0, plan.duration, 1e-3)
    q = plan.trajectory.at(t)
    on_seam = t >= plan.approach_time
    tips = robot.pose("torch", q[on_seam])
    dense = waypoints(poses)(np.linspace(0.0, 1.0, 20 * len(poses)))
    gaps, angles = [], []
    for tip in tips[:: max(1, len(tips) // 2000)]:
        distance = np.linalg.norm(dense[:, :3, 3] - tip[:3, 3], axis=1)
        k = int(distance.argmin())
        gaps.append(distance[k])
        angles.append(np.arccos(np.clip(dense[k, :3, 2] @ tip[:3, 2], -1.0, 1.0)))
    return max(gaps), max(angles), np.abs(np.diff(plan.points_on_path, axis=0)).max(), q


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--poses", type=int, default=200)
    parser.add_argument("--robots", default="ur5,panda")
    parser.add_argument("--speed", type=float, default=0.0, help="metres per second of the wire's end; 0: no limit")
    options = parser.parse_args()
    held = True
    for name in options.robots.split(","):
        robot, scene = cell(name)
        poses = seam(PLACES[name], options.poses)
        goal = mk.Pose("torch", rotation_tolerance=(1e-3, 1e-3, np.inf))
        begin = time.perf_counter()
        plan = mk.follow(robot, poses, goals=[goal], scene=scene, start=np.array(STARTS[name]),
                         tool_speed=options.speed or None)  # fmt: skip
        seconds = time.perf_counter() - begin
        print(f"{name}: {'followed whole' if plan.success else plan.explain()}, fraction {plan.fraction:.3f}, "
              f"planned in {seconds:.2f} s")  # fmt: skip
        held = held and plan.success
        if not plan.success:
            continue
        gap, angle, step, q = measure(plan, robot, scene, poses)
        check = IndependentCheck(robot, scene, plain_urdf(robot))
        touching = check.touching(q)
        near = touching.pop(("pipe", "torch"), 0)
        used = (plan.trajectory.peaks(1) / robot.velocity).max(), (plan.trajectory.peaks(2) / robot.acceleration).max()
        print(f"  seam in {plan.duration - plan.approach_time:.2f} s after {plan.approach_time:.2f} s of approach")
        print(f"  wire's end at most {gap * 1e3:.3f} mm off the seam, torch at most {angle:.5f} rad off its angle")
        print(f"  largest joint step between {len(plan.points_on_path)} points {step:.4f} rad; peak velocity "
              f"{used[0]:.3f}, acceleration {used[1]:.3f} of the limits")  # fmt: skip
        print(f"  contacts at 1 kHz: torch and pipe {near}, others {touching or 'none'}")
        held = held and not touching and gap < 5e-4 and max(used) <= 1.0 + 1e-6 and step < 0.35
    print("bars hold" if held else "A BAR DOES NOT HOLD")
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
