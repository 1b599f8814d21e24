// What the module holds: each file bind_*.cpp adds its part.
#pragma once

#include <nanobind/nanobind.h>

#include "tree/owned_tree.h"

namespace memetik {

nanobind::class_<Tree> bind_tree(nanobind::module_ &m);
void bind_kinematics(nanobind::class_<Tree> &tree);
void bind_geometry(nanobind::module_ &m);
void bind_terms(nanobind::module_ &m);
void bind_problem(nanobind::module_ &m);
void bind_options(nanobind::module_ &m);
void bind_literature(nanobind::module_ &m);
void bind_solve(nanobind::module_ &m);
void bind_batch(nanobind::module_ &m);
void bind_sensitivity(nanobind::module_ &m);
void bind_tracker(nanobind::module_ &m);
void bind_distance_field(nanobind::module_ &m);
void bind_collision(nanobind::module_ &m);
void bind_mesh_check(nanobind::module_ &m);
void bind_held_goals(nanobind::module_ &m);
void bind_motion(nanobind::module_ &m);
void bind_mesh_motion(nanobind::module_ &m);

}  // namespace memetik
