"""A welding seam followed whole: the spin of the torch is free, and used.

Two hundred poses along a curved seam on a plate. The torch keeps its tilt and may turn about its own axis;
configurations are chosen over the whole seam, so that the arm neither jumps nor stops halfway, and only the torch's
tip is at the part.

Run: python examples/14_welding_seam.py
"""

import numpy as np
from pictures import ball, save_animation

import memetik as mk

POSES, TORCH = 200, 0.15  # metres from the flange or the hand to the torch's tip

for name, held in (("ur5", ["wrist_3_link"]), ("panda", ["panda_hand", "panda_leftfinger", "panda_rightfinger"])):
    robot = mk.load_robot(name)
    robot = robot.group("panda_arm") if name == "panda" else robot
    t = np.linspace(-1.0, 1.0, POSES)
    seam = np.stack([0.45 + 0.06 * np.cos(3.0 * t), 0.22 * t, np.full(POSES, 0.15)], axis=1)
    poses = [mk.transform(point, rpy=(np.pi, 0.2 * np.sin(2.0 * k), 0.0)) for point, k in zip(seam, t, strict=True)]
    scene = mk.Scene()
    scene.add_box("plate", size=(0.4, 0.7, 0.02), pose=mk.transform((0.45, 0.0, 0.138)))
    body = mk.Cylinder(0.012, TORCH - 0.01)
    scene.attach("torch", body, link=robot.tip, pose=mk.transform((0.0, 0.0, 0.5 * body.length)), touch=held)
    tip = mk.transform((0.0, 0.0, TORCH))
    spin_free = mk.Pose(
        robot.tip, offset=tip, rotation_tolerance=(1e-4, 1e-4, np.inf), position_tolerance=1e-4, name="torch"
    )
    plan = mk.follow(robot, np.array(poses), goals=[spin_free], scene=scene)
    print(f"{name}: {100 * plan.fraction:.0f} % of the seam followed{'' if plan.success else ': ' + plan.reason}")
    assert plan.success
    path = plan.trajectory.resampled(100.0).positions
    tips = (robot.pose(robot.tip, path) @ tip)[:, :3, 3]
    off = max(np.min(np.linalg.norm(seam - point, axis=1)) for point in tips)
    step = np.abs(np.diff(path, axis=0)).max()
    print(
        f"    {plan.trajectory.duration:.2f} s, {step:.3f} rad at most in 10 ms; within {1e3 * off:.2f} mm of a point"
    )
    model = mk.CollisionModel(robot, scene)
    print(f"    nearest to the part and to itself: {1e3 * min(model.distance(q) for q in path[::10]):.1f} mm")
    save_animation(f"14_welding_seam_{name}", robot, path, scene, marks=[ball("seam", x, 0.004) for x in seam[::4]])
