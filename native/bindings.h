// What the module holds: each file bind_*.cpp adds its part.
#pragma once

#include <nanobind/nanobind.h>

namespace memetik {

void bind_kinematics(nanobind::module_ &m);

}  // namespace memetik
