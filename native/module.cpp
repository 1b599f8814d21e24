#include "bindings.h"

NB_MODULE(_core, m) {
  // Threads that still hold objects when the interpreter ends are nothing to warn of.
  nanobind::set_leak_warnings(false);
  m.doc() = "The native core of memetik: kinematic tree, batched kinematics and search.";
  nanobind::class_<memetik::Tree> tree = memetik::bind_tree(m);
  memetik::bind_kinematics(tree);
  memetik::bind_geometry(m);
  memetik::bind_methods(m);
  memetik::bind_problem(m);
  memetik::bind_stage(m);
  memetik::bind_confined(m);
  memetik::bind_tracker(m);
  memetik::bind_collision(m);
  memetik::bind_motion(m);
}
