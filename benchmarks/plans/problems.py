"""The problems of benchmarks/planning.py, and the independent check of their answers.

Robots stand in a shelf's front, at a table, before two walls and among clutter. Starts are random free configurations;
goals are the poses of others, half of them with the tool among the obstacles. The check knows nothing of memetik's
motion, scene and solver code: Pinocchio places the links, coal compares their geometry.
"""

from dataclasses import replace

import numpy as np

import memetik as mk
from memetik.bench.scenarios.configurations import obstacles
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.robot.description import Geometry

ROBOTS = ("panda", "ur10", "pr2")
SCENES = ("Shelf", "Table", "Corridor", "Clutter")


def load(name):
    """An arm whose joints all have limits."""
    if name == "pr2":
        arm = mk.load_robot("pr2").group("right_arm")
        endless = [name for name, free in zip(arm.joint_names, arm.continuous, strict=True) if free]
        return arm.with_limits(dict.fromkeys(endless, (-np.pi, np.pi)))
    if name == "panda":
        return mk.load_robot("panda").group("panda_arm")
    return mk.load_robot(name)


def scene_of(robot, name, scenario, seed=0):
    """The scene, and a box (2, 3) around where the tool is to reach."""
    tall = name == "pr2"  # stands on the floor, its shoulders at 0.8 m
    reach = {"panda": 0.45, "ur10": 0.55, "pr2": 0.5}[name]
    lift = 0.35 if tall else 0.0
    if scenario == "Shelf":
        around = make_surroundings("Shelf", pose=mk.transform((reach, 0.0, lift)), count=200)
    elif scenario == "Table":
        height = 0.74 if tall else 0.2
        around = make_surroundings("Table", height=height, pose=mk.transform((reach + 0.4, 0.0, 0.0)), count=200)
    elif scenario == "Corridor":
        around = make_surroundings("Corridor", centre=(reach + 0.15, 0.0, lift + 0.3), count=200,
                                   low=(reach, -0.05, lift + 0.2), high=(reach + 0.3, 0.05, lift + 0.4))  # fmt: skip
    else:
        scene = obstacles(robot, robot.tip, 12, seed)
        points = np.array([item.pose[:3, 3] for item in scene.snapshot().objects.values()])
        return scene, np.stack([points.min(axis=0), points.max(axis=0)])
    points = around.targets[:, :3, 3]
    return around.scene, np.stack([points.min(axis=0) - 0.1, points.max(axis=0) + 0.1])


def problems(robot, scene, box, count, seed):
    """Starts (count, dof) and goal poses (count, 4, 4), every other goal within the box."""
    model = mk.CollisionModel(robot, scene)
    rng = np.random.default_rng(seed)
    starts, inside, anywhere = [], [], []
    for _ in range(400):
        rows = robot.random(rng, 256)
        tips = robot.pose(robot.tip, rows)[:, :3, 3]
        near = ((tips > box[0]) & (tips < box[1])).all(axis=1)
        keep = np.concatenate([np.flatnonzero(near), np.flatnonzero(~near)[:16]])
        free = keep[~model.collides(rows[keep])]
        inside += list(rows[free[near[free]]])
        rest = rows[free[~near[free]]]
        starts += list(rest[::2])
        anywhere += list(rest[1::2])
        if min(len(starts) / 2, len(inside), len(anywhere)) >= count / 2:
            break
    if len(starts) < count:
        raise SystemExit(f"too few free configurations of {robot.name} for {count} problems")
    while len(inside) < (count + 1) // 2:
        inside.append(anywhere[len(inside)])
    goals = [(inside if k % 2 == 0 else anywhere)[k // 2] for k in range(count)]
    return np.array(starts[:count]), robot.pose(robot.tip, np.array(goals))


def plain_urdf(robot):
    """URDF with cylinders and balls in place of capsules, which not every reader knows: the same geometry."""
    links = []
    for link in robot.description.links:
        shapes = []
        for item in link.collisions:
            if not isinstance(item.shape, mk.Capsule):
                shapes.append(item)
                continue
            shapes.append(Geometry(mk.Cylinder(item.shape.radius, item.shape.length), item.origin))
            for side in (-0.5, 0.5):
                at = item.origin @ mk.transform((0.0, 0.0, side * item.shape.length))
                shapes.append(Geometry(mk.Sphere(item.shape.radius), at))
        links.append(replace(link, collisions=tuple(shapes), visuals=()))
    return mk.Robot(replace(robot.description, links=tuple(links))).to_urdf()


def allowed_pairs(robot):
    """Pairs of links that are not checked against each other."""
    model = mk.CollisionModel(robot)
    bodies = [link.name for link in robot.description.links if link.collisions]
    checked = model.pairs
    return [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1 :] if tuple(sorted((a, b))) not in checked]


def still_links(robot):
    """Links with geometry that no joint moves; what they touch is not the plan's business."""
    return [link.name for link in robot.description.links if link.collisions and not robot.moves(link.name).any()]


def objects_of(scene):
    """Boxes, balls and cylinders as plain data."""
    rows = []
    for item in scene.snapshot().objects.values():
        kind = type(item.shape).__name__.lower()
        size = {
            "box": lambda s: list(s.size),
            "sphere": lambda s: [s.radius],
            "cylinder": lambda s: [s.radius, s.length],
        }
        size = size[kind](item.shape)
        rows.append({"name": item.name, "kind": kind, "size": size, "pose": item.pose.tolist()})
    return rows


class IndependentCheck:
    """Pinocchio and coal on the URDF text."""

    def __init__(self, robot, scene, urdf):
        import coal
        import pinocchio as pin

        self.pin = pin
        self.model = pin.buildModelFromXML(urdf)
        self.geometry = pin.buildGeomFromUrdfString(self.model, urdf, pin.GeometryType.COLLISION, None)
        links = len(self.geometry.geometryObjects)
        for thing in objects_of(scene):
            kinds = {"box": coal.Box, "sphere": coal.Sphere, "cylinder": coal.Cylinder}
            shape = kinds[thing["kind"]](*thing["size"])
            pose = np.array(thing["pose"])
            placement = pin.SE3(pose[:3, :3].copy(), pose[:3, 3].copy())
            self.geometry.addGeometryObject(pin.GeometryObject(thing["name"], 0, placement, shape))
        self.world = {thing["name"] for thing in objects_of(scene)}
        frames = self.model.frames
        names = [frames[item.parentFrame].name for item in self.geometry.geometryObjects[:links]]
        allowed = {frozenset(pair) for pair in allowed_pairs(robot)}
        for i in range(links):
            for j in range(i + 1, len(self.geometry.geometryObjects)):
                if j < links:
                    together = (
                        self.geometry.geometryObjects[i].parentJoint == self.geometry.geometryObjects[j].parentJoint
                    )
                    if together or names[i] == names[j] or frozenset((names[i], names[j])) in allowed:
                        continue
                elif self.geometry.geometryObjects[i].parentJoint == 0:
                    continue  # what does not move is not the plan's fault
                self.geometry.addCollisionPair(pin.CollisionPair(i, j))
        self.data, self.geometry_data = self.model.createData(), self.geometry.createData()
        self.order = [self.model.joints[self.model.getJointId(name)].idx_q for name in robot.joint_names]
        assert self.model.nq == robot.dof, "every joint of the check needs a value"
        self.lower, self.upper = np.array(robot.lower), np.array(robot.upper)

    def touching(self, rows):
        """{(name, name): how many configurations} of pairs that touch in any of the configurations (N, dof)."""
        counts = {}
        items = self.geometry.geometryObjects
        for q in rows:
            full = np.zeros(self.model.nq)
            full[self.order] = q
            self.pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, full, False)
            for k, result in enumerate(self.geometry_data.collisionResults):
                if result.isCollision():
                    pair = self.geometry.collisionPairs[k]
                    names = [self._name(items[index]) for index in (pair.first, pair.second)]
                    key = tuple(sorted(names))
                    counts[key] = counts.get(key, 0) + 1
        return counts

    def _name(self, item):
        return (
            item.name if item.parentJoint == 0 and item.name in self.world else self.model.frames[item.parentFrame].name
        )

    def collides(self, q):
        """Whether one configuration touches anything."""
        full = np.zeros(self.model.nq)
        full[self.order] = q
        return self.pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, full, True)

    def faults(self, positions, times, velocity, acceleration, slack):
        """What is wrong with a motion sampled at times (N,): "" where nothing is. Derivatives by finite differences."""
        if (positions < self.lower - 1e-6).any() or (positions > self.upper + 1e-6).any():
            return "position limit"
        span = np.diff(times)[:, None]
        speed = np.diff(positions, axis=0) / span
        if (np.abs(speed) > velocity * (1.0 + slack) + 1e-6).any():
            return "velocity limit"
        rise = np.diff(speed, axis=0) / (0.5 * (span[1:] + span[:-1]))
        if (np.abs(rise) > acceleration * (1.0 + slack) + 1e-3).any():
            return "acceleration limit"
        return "collision" if any(self.collides(q) for q in positions) else ""
