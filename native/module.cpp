#include <nanobind/nanobind.h>

#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The native core of memetik: kinematic tree, batched kinematics and search.";
  memetik::bind_kinematics(m);
}
