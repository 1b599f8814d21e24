#include "python/bindings.h"
#include "python/numpy_arrays.h"

NB_MODULE(_core, m) {
  // Threads that still hold objects when the interpreter ends are nothing to warn of.
  nanobind::set_leak_warnings(false);
  memetik::load_numpy();
  m.doc() = "The native core of memetik: kinematic tree, batched kinematics and search.";
  nanobind::class_<memetik::Tree> tree = memetik::bind_tree(m);
  memetik::bind_kinematics(tree);
  memetik::bind_geometry(m);
  memetik::bind_terms(m);
  memetik::bind_problem(m);
  memetik::bind_distance_field(m);
  memetik::bind_collision(m);
  memetik::bind_options(m);
#ifdef MEMETIK_LITERATURE
  memetik::bind_literature(m);
  m.attr("HAS_LITERATURE") = true;
#else
  m.attr("HAS_LITERATURE") = false;
#endif
  memetik::bind_solve(m);
  memetik::bind_batch(m);
  memetik::bind_sensitivity(m);
  memetik::bind_tracker(m);
  memetik::bind_mesh_check(m);
  memetik::bind_held_goals(m);
  memetik::bind_motion(m);
  memetik::bind_mesh_motion(m);
}
