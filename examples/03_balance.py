"""A humanoid that reaches, with and without a goal for its balance, under physics.

Both hands follow targets that ask for more than the robot can do standing. With the Balance goal as a must, its centre
of mass stays over its feet and the hands come as near as that allows; without it they arrive, and the robot falls.
MuJoCo runs the configurations on a free body that stands on the ground by its feet alone.

Run: python examples/03_balance.py
"""

import numpy as np
from pictures import save_animation

import memetik as mk
from memetik.motion.execution.physics_model import build_model, mujoco

SECONDS, RATE, STEP = 20.0, 20.0, 0.002
STIFFNESS, DAMPING, TORQUE = 15000.0, 500.0, 600.0  # Nm/rad, Nm s/rad, Nm

whole = mk.load_robot("valkyrie")
configuration = None
for state in ("standing", "upright", "ahead", "down", "crouch"):  # of pelvis, torso, head, arms and legs
    configuration = whole.state(state, default=configuration)
at_rest = dict(zip(whole.joint_names, configuration, strict=True))
body = whole.group("full_body", at_rest).with_fixed({name: at_rest[name] for name in ("pelvisX", "pelvisY", "pelvisZ")})
robot = body.with_floating_base(name="base")
stand = robot.q({name: at_rest[name] for name in body.joint_names})
feet, hands = ("leftFoot", "rightFoot"), ("leftPalm", "rightPalm")
base = [k for k, name in enumerate(robot.joint_names) if name.startswith("base")]


def sole_corners(foot):
    """The corners of a foot's lowest box, in the world."""
    link = next(link for link in robot.description.links if link.name == foot)
    geometry = link.collisions[-1]
    half = 0.5 * np.array(geometry.shape.size)
    corners = [half * (x, y, -1.0) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    pose = robot.pose(foot, stand) @ np.asarray(geometry.origin)
    return [pose[:3, :3] @ corner + pose[:3, 3] for corner in corners]


support = np.array([corner for foot in feet for corner in sole_corners(foot)])
ground = mk.Scene()
ground.add_box("ground", size=(6.0, 6.0, 0.2), pose=mk.transform((0.0, 0.0, support[:, 2].min() - 0.101)))

standing = [mk.Pose(foot, robot.pose(foot, stand), name=foot) for foot in feet]
upright = mk.Orientation("pelvis", robot.pose("pelvis", stand)[:3, :3], priority=2, weight=0.3)
level = mk.Position("pelvis", robot.pose("pelvis", stand)[:3, 3], priority=2, weight=0.5)
calm = mk.MinimalDisplacement(weight=0.1, priority=2)
balanced = [
    *standing,
    mk.Balance(polygon=support * (1.0, 0.5, 1.0), margin=0.05),
    *(mk.Position(hand, name=hand, priority=1) for hand in hands),
    upright,
    level,
    calm,
]
reaching = [*standing, *(mk.Position(hand, name=hand, tolerance=5e-3) for hand in hands), upright, level, calm]
home = {hand: robot.pose(hand, stand)[:3, 3] for hand in hands}


def targets(t):
    """Forward and down, further than arms and legs go in balance, to the sides, and back."""
    far = 0.5 - 0.5 * np.cos(2.0 * np.pi * t / 10.0)
    side = 0.1 * np.sin(2.0 * np.pi * t / 7.0)
    return {hand: home[hand] + far * np.array([0.75, side, -0.1]) for hand in hands}


def configurations(goals):
    problem, q, path, times = mk.Problem(robot, goals), stand, [], []
    for k in range(int(SECONDS * RATE)):
        solution = problem.solve(targets(k / RATE), seed=q, timeout=0.02, refine_evaluations=1500, approximate=True)
        q = solution.q
        path.append(q)
        times.append(solution.time)
    return np.array(path), np.array(times)


def simulate(path):
    """Positions of the pelvis over time of a free body whose joints follow the path."""
    physics, mj = build_model(robot, ground, q=stand, timestep=STEP), mujoco()
    model, data = physics.model, mj.MjData(physics.model)
    for axis, variable in enumerate(robot.tree.variables):
        # Nothing holds the body but its feet; its joints are stiff, for ankles carry all of it.
        stiffness, damping = (0.0, 0.0) if variable in base else (STIFFNESS, DAMPING)
        servo = model.actuator(f"axis {axis}").id
        model.actuator_gainprm[servo, 0] = stiffness
        model.actuator_biasprm[servo, 1:3] = -stiffness, -damping
        model.actuator_forcerange[servo] = -TORQUE, TORQUE
    data.qpos[physics.positions] = physics.axis_values(stand)
    pelvis, seen = [], []
    for k in range(int(SECONDS / STEP)):
        place = k * STEP * RATE
        low = min(int(place), len(path) - 1)
        high = min(low + 1, len(path) - 1)
        q = path[low] + (place - int(place)) * (path[high] - path[low])
        data.ctrl[:] = physics.axis_values(q)
        mj.mj_step(model, data)
        if k % int(0.25 / STEP) == 0:
            now = data.qpos[physics.positions]
            seen.append(np.array([now[physics.readers[j]] for j in range(robot.dof)]))
            pelvis.append(data.body("link pelvis").xpos.copy())
    return np.array(pelvis), np.array(seen)


def stood(pelvis):
    return bool(pelvis[-1, 2] > 0.8 * pelvis[0, 2])


for name, goals in (("with the balance goal", balanced), ("without it", reaching)):
    path, times = configurations(goals)
    pelvis, seen = simulate(path)
    lean = np.linalg.norm(pelvis[:, :2] - pelvis[0, :2], axis=1)
    when = np.argmax(pelvis[:, 2] < 0.8 * pelvis[0, 2]) * 0.25
    verdict = f"stands for {SECONDS:g} s" if stood(pelvis) else f"falls after {when:.1f} s"
    reach = max(robot.pose(hands[0], q)[0, 3] for q in path) - home[hands[0]][0]
    print(f"{name}: {verdict}; hands reach {100 * reach:.0f} cm forward; {1e3 * times.mean():.1f} ms per configuration")
    save_animation(f"03_balance_{name.split()[0]}", robot, seen, ground, rate=4.0, azimuth=-1.1, elevation=0.15)
