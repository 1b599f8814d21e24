#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/dispatch.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "python/fields.h"
#include "tree/owned_tree.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// A tree as Python holds it: an entry per axis, then an entry per link.
struct TreeArrays {
  Input<int32_t> parents;
  Input<uint8_t> prismatic;
  Input<double> placements;
  Input<int32_t> variables;
  Input<double> multipliers, offsets;
  Input<int32_t> link_axes;
  Input<double> link_placements, masses, coms, inertias;
  int dof = 0;
};

void make_tree(Tree *self, const TreeArrays &tree) {
  const size_t axis_count = tree.parents.size(), link_count = tree.link_axes.size();
  check_shape(tree.parents, "parents", {axis_count});
  check_shape(tree.prismatic, "prismatic", {axis_count});
  check_shape(tree.placements, "placements", {axis_count, 3, 4});
  check_shape(tree.variables, "variables", {axis_count});
  check_shape(tree.multipliers, "multipliers", {axis_count});
  check_shape(tree.offsets, "offsets", {axis_count});
  check_shape(tree.link_axes, "link_axes", {link_count});
  check_shape(tree.link_placements, "link_placements", {link_count, 3, 4});
  check_shape(tree.masses, "masses", {link_count});
  check_shape(tree.coms, "coms", {link_count, 3});
  check_shape(tree.inertias, "inertias", {link_count, 3, 3});
  std::vector<Axis> axes(axis_count);
  for (size_t a = 0; a < axis_count; ++a)
    axes[a] = {placement_from(tree.placements.data() + 12 * a),
               tree.multipliers.data()[a],
               tree.offsets.data()[a],
               tree.parents.data()[a],
               tree.variables.data()[a],
               tree.prismatic.data()[a] != 0};
  std::vector<LinkFrame> links(link_count);
  std::vector<Inertia> bodies(link_count);
  for (size_t i = 0; i < link_count; ++i) {
    links[i] = {placement_from(tree.link_placements.data() + 12 * i), tree.link_axes.data()[i]};
    bodies[i].mass = tree.masses.data()[i];
    for (int k = 0; k < 3; ++k) bodies[i].com[k] = tree.coms.data()[3 * i + k];
    for (int k = 0; k < 9; ++k) bodies[i].inertia[k] = tree.inertias.data()[9 * i + k];
  }
  new (self) Tree(std::move(axes), std::move(links), std::move(bodies), tree.dof);
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (int k = 0; k < int(InstructionSet::count); ++k)
    if (is_supported(InstructionSet(k))) names.push_back(name_of(InstructionSet(k)));
  return names;
}

}  // namespace

nb::class_<Tree> bind_tree(nb::module_ &m) {
  active_instruction_set();  // a wrong MEMETIK_ARCH is an ImportError
  m.def(
      "architecture", [] { return std::string(name_of(active_instruction_set())); },
      "The instruction set that the kernels run on.");
  m.def("architectures", &architectures, "The instruction sets that this build and this processor have.");

  bind_fields<TreeArrays>(m, "TreeArrays", "A tree in arrays: an entry per axis, then an entry per link.",
                          REQUIRED(parents), REQUIRED(prismatic), REQUIRED(placements), REQUIRED(variables),
                          REQUIRED(multipliers), REQUIRED(offsets), REQUIRED(link_axes), REQUIRED(link_placements),
                          REQUIRED(masses), REQUIRED(coms), REQUIRED(inertias), REQUIRED(dof));

  return nb::class_<Tree>(m, "Tree",
                          "A kinematic tree broken down into axes that turn about or slide along their own z axis.\n\n"
                          "frame(a) = frame(parent) * placement * (Rz or Tz of multiplier * q[variable] + offset);\n"
                          "a link is fixed to an axis, or to the world (-1). Parents come before their children.")
      .def("__init__", &make_tree, "arrays"_a)
      .def_prop_ro("axis_count", [](const Tree &tree) { return tree.view().axis_count; })
      .def_prop_ro("link_count", [](const Tree &tree) { return tree.view().link_count; })
      .def_prop_ro("dof", [](const Tree &tree) { return tree.view().dof; })
      .def_prop_ro("mass", [](const Tree &tree) { return tree.view().mass; }, "Mass of all links in kilograms.");
}

}  // namespace memetik
