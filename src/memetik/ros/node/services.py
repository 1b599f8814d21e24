"""The services, under MoveIt's names and types: inverse and forward kinematics, validity, straight paths, plans.

Each takes a request and returns a response; none raises. What went wrong is in the response's error code and message.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError, MemetikError, MissingExtraError
from memetik.geometry.transforms import inverse
from memetik.goals.pose import Pose
from memetik.motion.planning.follow import follow
from memetik.motion.planning.pipeline import plan as plan_motion
from memetik.motion.planning.plan import Plan
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.trajectory import Trajectory
from memetik.ros import conversions
from memetik.ros.messages import Message, message_class, service_type
from memetik.ros.node.constraints import evaluated, goals_of, is_empty, joint_goal
from memetik.ros.node.markers import Display
from memetik.ros.node.planning_scene import apply_scene, scene_message
from memetik.ros.node.world import ErrorCodes, RequestError, World
from memetik.scene.scene import Scene
from memetik.solve.problem import Problem

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 0.1, 10.0
"""Seconds of a search where a request names none, and at most."""
MOST_SOLUTIONS, MOST_WAYPOINTS = 64, 10_000
_MOST_KEPT = 32

PLAN_CODES = {
    "start outside limits": ErrorCodes.START_STATE_INVALID,
    "start in collision": ErrorCodes.START_STATE_IN_COLLISION,
    "the start cannot be left": ErrorCodes.START_STATE_IN_COLLISION,
    "goal outside limits": ErrorCodes.GOAL_STATE_INVALID,
    "goal in collision": ErrorCodes.GOAL_IN_COLLISION,
    "in collision": ErrorCodes.GOAL_IN_COLLISION,
    "out of reach": ErrorCodes.NO_IK_SOLUTION,
    "limits exclude it": ErrorCodes.NO_IK_SOLUTION,
    "too few joints for the demands": ErrorCodes.NO_IK_SOLUTION,
    "not found in time": ErrorCodes.TIMED_OUT,
    "no path found in time": ErrorCodes.TIMED_OUT,
}
"""Codes for reasons of a plan; PLANNING_FAILED for the others."""


class Services:
    """The handlers of a node's services."""

    def __init__(self, world: World, display: Display | None = None):
        self.world, self._display = world, display
        self._problems: OrderedDict[tuple[Any, ...], Problem] = OrderedDict()
        self._models: OrderedDict[int, CollisionModel] = OrderedDict()

    def table(self) -> dict[str, tuple[str, Callable[[Any], Any]]]:
        """{name of a service: (its type, its handler)}."""
        return {
            "/compute_ik": ("moveit_msgs/srv/GetPositionIK", self.inverse_kinematics),
            "/compute_fk": ("moveit_msgs/srv/GetPositionFK", self.forward_kinematics),
            "/check_state_validity": ("moveit_msgs/srv/GetStateValidity", self.state_validity),
            "/compute_cartesian_path": ("moveit_msgs/srv/GetCartesianPath", self.cartesian_path),
            "/plan_kinematic_path": ("moveit_msgs/srv/GetMotionPlan", self.motion_plan),
            "/get_planning_scene": ("moveit_msgs/srv/GetPlanningScene", self.planning_scene),
            "/apply_planning_scene": ("moveit_msgs/srv/ApplyPlanningScene", self.apply_planning_scene),
            "/compute_all_ik": ("memetik_msgs/srv/GetAllPositionIK", self.all_inverse_kinematics),
        }

    # kinematics

    def inverse_kinematics(self, request: Message) -> Any:
        response = service_type("moveit_msgs/srv/GetPositionIK").Response()

        def run() -> None:
            problem, targets, seed, timeout = self._stated(request.ik_request)
            solution = problem.solve(*targets, seed=seed, timeout=timeout, rng=0)
            if not solution.success:
                raise RequestError(ErrorCodes.NO_IK_SOLUTION, f"{solution.reason}.")
            response.solution = self.world.robot_state(solution.q)
            if self._display is not None:
                self._display.solution(solution.q)

        response.error_code = self._code(run)
        return response

    def all_inverse_kinematics(self, request: Message) -> Any:
        response = service_type("memetik_msgs/srv/GetAllPositionIK").Response()

        def run() -> None:
            problem, targets, seed, timeout = self._stated(request.ik_request)
            most = min(request.max_solutions or MOST_SOLUTIONS, MOST_SOLUTIONS)
            found = problem.solve_all(*targets, seed=seed, most=most, timeout=timeout, rng=0)
            if not found:
                raise RequestError(ErrorCodes.NO_IK_SOLUTION, "no configuration was found.")
            response.solutions = [self.world.robot_state(solution.q) for solution in found]

        response.error_code = self._code(run)
        return response

    def forward_kinematics(self, request: Message) -> Any:
        response = service_type("moveit_msgs/srv/GetPositionFK").Response()

        def run() -> None:
            q = self.world.configuration(request.robot_state)
            if not request.fk_link_names:
                raise RequestError(ErrorCodes.INVALID_LINK_NAME, "no link is named.")
            frame = request.header.frame_id or self.world.planning_frame
            to_frame = inverse(self.world.frame(frame, q))
            for name in request.fk_link_names:
                pose = to_frame @ self.world.frame(self.world.link(name), q)
                stamped = conversions.PoseStamped(header=conversions.header(frame), pose=conversions.pose_message(pose))
                response.pose_stamped.append(stamped)
                response.fk_link_names.append(name)

        response.error_code = self._code(run)
        return response

    def _stated(self, request: Message) -> tuple[Problem, list[np.ndarray], np.ndarray, float]:
        """The problem of a moveit_msgs/PositionIKRequest: its open targets, seed and timeout."""
        world = self.world
        q = world.configuration(request.robot_state)
        if request.pose_stamped_vector:
            poses = list(request.pose_stamped_vector)
            names = list(request.ik_link_names)
            if len(names) != len(poses):
                raise RequestError(
                    ErrorCodes.INVALID_LINK_NAME, f"{len(poses)} poses are given for {len(names)} links."
                )
        else:
            poses, names = [request.pose_stamped], [request.ik_link_name]
        links = [world.link(name, request.group_name) for name in names]
        base = world.robot.pose(world.robot.base, q)
        targets = [base @ world.frame(each.header.frame_id, q) @ _pose(each.pose) for each in poses]
        scene = world.scene_of(request.robot_state) if request.avoid_collisions else None
        constraints = () if is_empty(request.constraints) else tuple(goals_of(request.constraints, world, q))
        fixed = world.others(request.group_name)
        key = (tuple(links), fixed, request.avoid_collisions)
        keeps = not constraints and (scene is None or scene is world.scene)
        problem = self._problems.get(key) if keeps else None
        if problem is None:
            goals = [*(Pose(link) for link in links), *constraints]
            problem = Problem(
                world.robot, goals, scene=scene, self_collision=bool(request.avoid_collisions), fixed=fixed
            )
            if keeps:
                self._problems[key] = problem
                while len(self._problems) > _MOST_KEPT:
                    self._problems.popitem(last=False)
        seed = world.robot.clip(q)
        for name in fixed:  # what stays is where it is, within its limits or not
            seed[world.robot.joint_index(name)] = q[world.robot.joint_index(name)]
        return problem, targets, world.robot.clip(seed), _timeout(conversions.seconds_of(request.timeout))

    # validity

    def state_validity(self, request: Message) -> Any:
        response = service_type("moveit_msgs/srv/GetStateValidity").Response()
        world = self.world

        def run() -> None:
            q = world.configuration(request.robot_state)
            within = bool(world.robot.within_limits(q))
            links = set(world.robot.group_links(request.group_name)) if request.group_name else None
            world.others(request.group_name)  # an unknown group is an error
            scene = world.scene_of(request.robot_state)
            contacts = [
                contact for contact in self._model(scene).contacts(q)
                if links is None or {contact.first, contact.second} & links
            ]  # fmt: skip
            response.contacts = [self._contact(contact, scene) for contact in contacts]
            if self._display is not None:
                self._display.contacts(contacts)
            if not is_empty(request.constraints):
                result = message_class("moveit_msgs/msg/ConstraintEvalResult")
                found = evaluated(request.constraints, world, q)
                response.constraint_result = [result(result=holds, distance=off) for holds, off in found]
            response.valid = (
                within and not response.contacts and all(each.result for each in response.constraint_result)
            )

        code = self._code(run)
        if code.val != ErrorCodes.SUCCESS:
            response.valid = False
        return response

    def _contact(self, contact: Any, scene: Scene) -> Any:
        made = message_class("moveit_msgs/msg/ContactInformation")(header=conversions.header(self.world.planning_frame))
        made.position.x, made.position.y, made.position.z = contact.points.mean(axis=0).tolist()
        made.normal.x, made.normal.y, made.normal.z = contact.normal.tolist()
        made.depth = contact.depth
        made.contact_body_1, made.contact_body_2 = contact.first, contact.second
        made.body_type_1, made.body_type_2 = _body_type(contact.first, scene), _body_type(contact.second, scene)
        return made

    def _model(self, scene: Scene) -> CollisionModel:
        model = self._models.get(id(scene))
        if model is None or model.scene is not scene:
            model = CollisionModel(self.world.robot, scene)
            if scene is self.world.scene:
                self._models[id(scene)] = model
        return model

    # motion

    def cartesian_path(self, request: Message) -> Any:
        response = service_type("moveit_msgs/srv/GetCartesianPath").Response()
        world = self.world

        def run() -> str:
            q = world.configuration(request.start_state)
            link = world.link(request.link_name, request.group_name)
            if not is_empty(request.path_constraints):
                raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, "constraints along a path are not understood.")
            if not 1 <= len(request.waypoints) <= MOST_WAYPOINTS or not 0.0 < request.max_step < math.inf:
                raise RequestError(
                    ErrorCodes.FAILURE, f"a path needs 1 to {MOST_WAYPOINTS} waypoints and a positive max_step."
                )
            base = world.robot.pose(world.robot.base, q)
            frame = base @ world.frame(request.header.frame_id, q)
            poses = [world.robot.pose(link, q)]
            for each in request.waypoints:
                pose = frame @ _pose(each)
                if np.abs(pose - poses[-1]).max() > 1e-7:
                    poses.append(pose)
            response.start_state = world.robot_state(q)
            if len(poses) == 1:
                response.fraction = 1.0
                return "The link is there already."
            group = world.robot.group(request.group_name, q) if world.others(request.group_name) else world.robot
            limits = MotionLimits.of(
                group, velocity_scale=_scale(request.max_velocity_scaling_factor),
                acceleration_scale=_scale(request.max_acceleration_scaling_factor),
            )  # fmt: skip
            scene = world.scene_of(request.start_state) if request.avoid_collisions else None
            own = np.array([q[world.robot.joint_index(name)] for name in group.joint_names])
            speed = request.max_cartesian_speed if request.max_cartesian_speed > 0.0 else None
            plan = follow(
                group, np.array(poses), goals=[Pose(link)], scene=scene, start=group.clip(own), approach=False,
                step=min(request.max_step, 1.0), limits=limits, tool_speed=speed,
                self_collision=bool(request.avoid_collisions),
            )  # fmt: skip
            response.fraction = plan.fraction
            if plan.trajectory is None:
                if plan.reason in PLAN_CODES:
                    raise RequestError(PLAN_CODES[plan.reason], f"{plan.reason}. {plan.detail}")
                return f"{plan.reason}. {plan.detail}"
            response.solution.joint_trajectory = conversions.trajectory_message(plan.trajectory, world.planning_frame)
            self._show(plan)
            return plan.detail

        response.error_code = self._code(run)
        return response

    def motion_plan(self, request: Message) -> Any:
        response = service_type("moveit_msgs/srv/GetMotionPlan").Response()
        answer, asked, world = response.motion_plan_response, request.motion_plan_request, self.world

        def run() -> None:
            q = world.configuration(asked.start_state)
            fixed = world.others(asked.group_name)
            if asked.trajectory_constraints.constraints:
                raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, "trajectory_constraints are not understood.")
            along = goals_of(asked.path_constraints, world, q) or None
            if not asked.goal_constraints or all(is_empty(each) for each in asked.goal_constraints):
                raise RequestError(ErrorCodes.INVALID_GOAL_CONSTRAINTS, "the goal has no constraints.")
            failure = RequestError(ErrorCodes.PLANNING_FAILED, "")
            for constraints in asked.goal_constraints:
                goal: Any = joint_goal(constraints, world)
                plan = plan_motion(
                    world.robot, goals_of(constraints, world, q) if goal is None else goal,
                    scene=world.scene_of(asked.start_state), start=q, fixed=fixed or None, along=along,
                    path_timeout=_timeout(asked.allowed_planning_time, 2.0),
                    velocity_scale=_scale(asked.max_velocity_scaling_factor),
                    acceleration_scale=_scale(asked.max_acceleration_scaling_factor),
                )  # fmt: skip
                answer.planning_time += plan.time
                if plan.trajectory is not None and plan.success:
                    chosen = only_joints(plan.trajectory, world.members(asked.group_name))
                    answer.trajectory.joint_trajectory = conversions.trajectory_message(chosen, world.planning_frame)
                    answer.trajectory_start = world.robot_state(plan.start)
                    answer.group_name = asked.group_name
                    self._show(plan)
                    return
                code = PLAN_CODES.get(plan.reason, ErrorCodes.PLANNING_FAILED)
                failure = RequestError(code, f"{plan.reason}. {plan.detail}")
            raise failure

        answer.error_code = self._code(run)
        return response

    def _show(self, plan: Plan) -> None:
        if self._display is not None:
            self._display.plan(plan)

    # the scene

    def planning_scene(self, request: Message) -> Any:
        with self.world.lock:
            scene = scene_message(self.world.scene, self.world.planning_frame, self.world.robot.name)
        state = self.world.robot_state(self.world.q())
        state.attached_collision_objects = scene.robot_state.attached_collision_objects
        scene.robot_state = state
        return service_type("moveit_msgs/srv/GetPlanningScene").Response(scene=scene)

    def apply_planning_scene(self, request: Message) -> Any:
        def run() -> None:
            self.world.change(apply_scene, request.scene)

        code = self._code(run)
        return service_type("moveit_msgs/srv/ApplyPlanningScene").Response(success=code.val == ErrorCodes.SUCCESS)

    def _code(self, run: Callable[[], str | None]) -> Any:
        """Runs the body of a service; what it raises becomes a code and a message, which is logged too."""
        try:
            return ErrorCodes(val=ErrorCodes.SUCCESS, message=run() or "", source="memetik")
        except RequestError as error:
            code, text = error.code, str(error)
        except MissingExtraError as error:
            code, text = ErrorCodes.COLLISION_CHECKING_UNAVAILABLE, str(error)
        except MemetikError as error:
            code, text = ErrorCodes.FAILURE, str(error)
        except Exception as error:  # a client that gets no answer waits for ever
            logger.exception("a service failed")
            code, text = ErrorCodes.FAILURE, f"memetik failed: {error!r}"
        logger.warning("%s", text)
        return ErrorCodes(val=code, message=text, source="memetik")


def only_joints(trajectory: Trajectory, names: list[str]) -> Trajectory:
    """The part of a trajectory that moves some joints."""
    index = [trajectory.joint_names.index(name) for name in names if name in trajectory.joint_names]
    kept = [trajectory.joint_names[k] for k in index]
    return Trajectory(kept, trajectory.times, trajectory.coefficients[:, :, index])


def _pose(message: Message) -> np.ndarray:
    try:
        return conversions.pose_matrix(message)
    except InvalidInputError as error:
        raise RequestError(ErrorCodes.FAILURE, str(error)) from None


def _timeout(seconds: float, default: float = DEFAULT_TIMEOUT) -> float:
    return min(seconds, LONGEST_TIMEOUT) if 0.0 < seconds < math.inf else default


def _scale(factor: float) -> float:
    """As MoveIt has it: what is not within (0, 1] counts as 1."""
    return factor if 0.0 < factor <= 1.0 else 1.0


def _body_type(name: str, scene: Scene) -> int:
    contact: Any = message_class("moveit_msgs/msg/ContactInformation")
    if name not in scene:
        return contact.ROBOT_LINK
    return contact.WORLD_OBJECT if scene[name].link is None else contact.ROBOT_ATTACHED
