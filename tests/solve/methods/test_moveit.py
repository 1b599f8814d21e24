"""MoveIt's kinematics.yaml: parameters of plugins under their own names, errors that name file and entry."""

from __future__ import annotations

import pytest

import memetik as mk
from memetik.errors import InvalidInputError

M = mk.methods
BIO = "bio_ik/BioIKKinematicsPlugin"
PICK = "pick_ik/PickIkPlugin"
TRAC = "trac_ik_kinematics_plugin/TRAC_IKKinematicsPlugin"
KDL = "kdl_kinematics_plugin/KDLKinematicsPlugin"


@pytest.fixture
def preset(tmp_path):
    def read(solver, **entries):
        lines = [f"  kinematics_solver: {solver}", *(f"  {key}: {value}" for key, value in entries.items())]
        (tmp_path / "kinematics.yaml").write_text("arm:\n" + "\n".join(lines) + "\n")
        return M.preset_from_moveit(tmp_path / "kinematics.yaml", "arm")

    return read


def test_the_plugins_bio1_is_the_port_to_ros(preset):
    assert preset(BIO, mode="bio1").method == M.Bio1Ros()


def test_the_seven_parameters_of_bio_ik_are_taken_over(preset):
    read = preset(
        BIO, population_size=6, child_count=25, elite_count=2, threads=3, species_count=5, memetic_evolution_gens=1,
        memetic_opt_gens=21,
    )  # fmt: skip
    assert read.method == M.Bio2(
        population=6, children=25, elites=2, islands=3, species=5, evolution_generations=1, local_generations=21
    )
    assert read.options["threads"] == 3
    assert read.ignored == ()
    assert preset(BIO, mode="gd_c_4", population_size=6).ignored == ("population_size",)


def test_the_parameters_of_pick_ik_are_taken_over(preset):
    read = preset(
        PICK, mode="global", memetic_population_size=20, memetic_elite_size=5, memetic_max_generations=50,
        memetic_gd_max_iters=10, memetic_wipeout_fitness_tol="1e-6", memetic_num_threads=2, gd_max_iters=80,
        gd_step_size=1e-3, gd_min_cost_delta=1e-9, memetic_stop_on_first_solution="true",
        stop_optimization_on_valid_solution="true", memetic_gd_max_time=0.005, cost_threshold=0.01,
    )  # fmt: skip
    assert read.method == M.Pick(
        population=20, elites=5, generations=50, local_iterations=10, wipeout_tolerance=1e-6, islands=2,
        local_only_iterations=80, difference=1e-3, least_progress=1e-9,
    )  # fmt: skip
    assert read.options == {"timeout": 0.05, "threads": 2, "refine": 0.0}
    assert read.ignored == ("cost_threshold", "memetic_gd_max_time")
    # Both are checked together: a smaller population goes with fewer elites.
    assert preset(PICK, memetic_population_size=3, memetic_elite_size=2).method == M.Pick(population=3, elites=2)
    with pytest.raises(InvalidInputError, match=r"group 'arm' in .*kinematics.yaml: Pick has 3 individuals"):
        preset(PICK, memetic_population_size=3)


def test_positions_and_orientations_have_thresholds_of_their_own(preset):
    read = preset(PICK, position_threshold=0.002, orientation_threshold=0.03, rotation_scale=0.6, position_scale=2.0)
    (goal,) = read.goals("tool0")
    assert (goal.position_tolerance, goal.rotation_tolerance) == (0.002, 0.03)
    assert goal.rotation_scale == pytest.approx(0.3)
    (goal,) = preset(BIO, dtwist="1e-4").goals("tool0")
    assert (goal.position_tolerance, goal.rotation_tolerance) == (1e-4, 1e-4)
    assert (
        preset(PICK, orientation_threshold=0.03).goals("tool0")[0].position_tolerance == mk.Pose("x").position_tolerance
    )


def test_no_weight_for_rotations_asks_for_positions_alone(preset):
    assert isinstance(preset(PICK, rotation_scale=0.0).goals("tool0")[0], mk.Position)
    assert isinstance(preset(PICK, rotation_scale=0.5).goals("tool0")[0], mk.Pose)


def test_what_was_read_comes_back_from_a_file(preset, tmp_path):
    read = preset(PICK, memetic_population_size=20, orientation_threshold=0.03, minimal_displacement_weight=0.1)
    read.save(tmp_path / "arm.json")
    assert M.load_preset(tmp_path / "arm.json") == read


@pytest.mark.parametrize(
    ("solver", "key", "value", "right"),
    [
        (PICK, "mode", "foo", "choose from 'global', 'local'"),
        (BIO, "mode", "bio2_memeti", "did you mean 'bio2_memetic'"),
        (BIO, "mode", "jac_damped", "did you mean"),
        (TRAC, "solve_type", "Quick", "choose from 'speed', 'distance'"),
        (KDL, "kinematics_solver_timeout", "-1", "must be a number"),
        (KDL, "kinematics_solver_timeout", "0", "must be a number"),
        (KDL, "kinematics_solver_timeout", ".nan", "must be a number"),
        (KDL, "kinematics_solver_timeout", "soon", "must be a number"),
        (KDL, "kinematics_solver_attempts", "few", "must be a whole number"),
        (KDL, "kinematics_solver_attempts", "0", "must be a whole number"),
        (KDL, "max_solver_iterations", "1.5", "must be a whole number"),
        (BIO, "threads", "all", "must be a whole number"),
        (BIO, "center_joints_weight", "much", "must be a number"),
        (BIO, "population_size", "-2", "must be a whole number"),
        (PICK, "position_scale", "0", "must be a number"),
        (PICK, "orientation_threshold", "[1, 2]", "must be a number"),
        (KDL, "position_only_ik", "'false'", "is True or False"),
        (KDL, "position_only_ik", "1", "is True or False"),
    ],
)
def test_errors_name_file_group_and_entry(preset, solver, key, value, right):
    with pytest.raises(InvalidInputError, match=rf"^{key} of group 'arm' in .*kinematics\.yaml .*{right}"):
        preset(solver, **{key: value})


def test_a_preset_that_was_read_solves(preset):
    read = preset(PICK, position_threshold=0.01, orientation_threshold=0.05, kinematics_solver_timeout=2.0)
    robot = mk.load_robot("ur5")
    target = robot.pose(robot.tip, robot.neutral + 0.3)
    solution = read.solve(read.problem(robot), target)
    assert solution.success
    (errors,) = solution.errors.values()
    assert errors["position"] <= 0.01
    assert errors["rotation"] <= 0.05
