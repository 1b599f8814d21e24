#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "dispatch.h"
#include "owned_tree.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

Placement placement_from(const double *rows) {
  Placement placement;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) placement.R[3 * i + j] = rows[4 * i + j];
    placement.p[i] = rows[4 * i + 3];
  }
  return placement;
}

void make_tree(Tree *self, Input<int32_t> parents, Input<uint8_t> prismatic, Input<double> placements,
               Input<int32_t> variables, Input<double> multipliers, Input<double> offsets, Input<int32_t> link_axes,
               Input<double> link_placements, Input<double> masses, Input<double> coms, Input<double> inertias,
               int dof) {
  const size_t axis_count = parents.size(), link_count = link_axes.size();
  check_shape(parents, "parents", {axis_count});
  check_shape(prismatic, "prismatic", {axis_count});
  check_shape(placements, "placements", {axis_count, 3, 4});
  check_shape(variables, "variables", {axis_count});
  check_shape(multipliers, "multipliers", {axis_count});
  check_shape(offsets, "offsets", {axis_count});
  check_shape(link_axes, "link_axes", {link_count});
  check_shape(link_placements, "link_placements", {link_count, 3, 4});
  check_shape(masses, "masses", {link_count});
  check_shape(coms, "coms", {link_count, 3});
  check_shape(inertias, "inertias", {link_count, 3, 3});
  std::vector<Axis> axes(axis_count);
  for (size_t a = 0; a < axis_count; ++a)
    axes[a] = {placement_from(placements.data() + 12 * a),
               multipliers.data()[a],
               offsets.data()[a],
               parents.data()[a],
               variables.data()[a],
               prismatic.data()[a] != 0};
  std::vector<LinkFrame> links(link_count);
  std::vector<Inertia> bodies(link_count);
  for (size_t i = 0; i < link_count; ++i) {
    links[i] = {placement_from(link_placements.data() + 12 * i), link_axes.data()[i]};
    bodies[i].mass = masses.data()[i];
    for (int k = 0; k < 3; ++k) bodies[i].com[k] = coms.data()[3 * i + k];
    for (int k = 0; k < 9; ++k) bodies[i].inertia[k] = inertias.data()[9 * i + k];
  }
  new (self) Tree(std::move(axes), std::move(links), std::move(bodies), dof);
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (Architecture candidate : {Architecture::Baseline, Architecture::Avx2, Architecture::Avx512})
    if (has_architecture(candidate)) names.push_back(architecture_name(candidate));
  return names;
}

}  // namespace

nb::class_<Tree> bind_tree(nb::module_ &m) {
  active_architecture();  // a wrong MEMETIK_ARCH is an ImportError
  m.def(
      "architecture", [] { return std::string(architecture_name(active_architecture())); },
      "The instruction set that the kernels run on.");
  m.def("architectures", &architectures, "The instruction sets that this build and this processor have.");

  return nb::class_<Tree>(m, "Tree",
                          "A kinematic tree broken down into axes that turn about or slide along their own z axis.\n\n"
                          "frame(a) = frame(parent) * placement * (Rz or Tz of multiplier * q[variable] + offset);\n"
                          "a link is fixed to an axis, or to the world (-1). Parents come before their children.")
      .def("__init__", &make_tree, "parents"_a, "prismatic"_a, "placements"_a, "variables"_a, "multipliers"_a,
           "offsets"_a, "link_axes"_a, "link_placements"_a, "masses"_a, "coms"_a, "inertias"_a, "dof"_a)
      .def_prop_ro("axis_count", [](const Tree &tree) { return tree.view().axis_count; })
      .def_prop_ro("link_count", [](const Tree &tree) { return tree.view().link_count; })
      .def_prop_ro("dof", [](const Tree &tree) { return tree.view().dof; })
      .def_prop_ro("mass", [](const Tree &tree) { return tree.view().mass; }, "Mass of all links in kilograms.");
}

}  // namespace memetik
