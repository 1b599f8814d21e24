#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.h"
#include "dispatch.h"
#include "kinematics_kernels.h"
#include "owned_tree.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {

MEMETIK_KERNEL_TABLE(KinematicsKernels, kinematics_kernels)

namespace {

template <class Scalar>
using Array = nb::ndarray<const Scalar, nb::c_contig, nb::device::cpu>;

template <class Scalar>
void check_shape(const Array<Scalar> &array, const char *name, const std::vector<size_t> &shape) {
  bool same = array.ndim() == shape.size();
  for (size_t i = 0; same && i < shape.size(); ++i) same = array.shape(i) == shape[i];
  if (same) return;
  std::string wanted, found;
  for (size_t n : shape) wanted += (wanted.empty() ? "" : ", ") + std::to_string(n);
  for (size_t i = 0; i < array.ndim(); ++i) found += (found.empty() ? "" : ", ") + std::to_string(array.shape(i));
  throw std::invalid_argument(std::string(name) + " must have shape (" + wanted + "), not (" + found + ").");
}

Placement placement_from(const double *rows) {
  Placement placement;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) placement.R[3 * i + j] = rows[4 * i + j];
    placement.p[i] = rows[4 * i + 3];
  }
  return placement;
}

Tree make_tree(Array<int32_t> parents, Array<uint8_t> prismatic, Array<double> placements, Array<int32_t> variables,
               Array<double> multipliers, Array<double> offsets, Array<int32_t> link_axes,
               Array<double> link_placements, Array<double> masses, Array<double> coms, Array<double> inertias,
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
    axes[a] = {placement_from(placements.data() + 12 * a), multipliers.data()[a], offsets.data()[a],
               parents.data()[a], variables.data()[a], prismatic.data()[a] != 0};
  std::vector<LinkFrame> links(link_count);
  std::vector<Inertia> bodies(link_count);
  for (size_t i = 0; i < link_count; ++i) {
    links[i] = {placement_from(link_placements.data() + 12 * i), link_axes.data()[i]};
    bodies[i].mass = masses.data()[i];
    for (int k = 0; k < 3; ++k) bodies[i].com[k] = coms.data()[3 * i + k];
    for (int k = 0; k < 9; ++k) bodies[i].inertia[k] = inertias.data()[9 * i + k];
  }
  return Tree(std::move(axes), std::move(links), std::move(bodies), dof);
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (Architecture candidate : {Architecture::Baseline, Architecture::Avx2, Architecture::Avx512})
    if (has_architecture(candidate)) names.push_back(architecture_name(candidate));
  return names;
}

}  // namespace

void bind_kinematics(nb::module_ &m) {
  active_architecture();  // a wrong MEMETIK_ARCH is an ImportError
  m.def("architecture", [] { return std::string(architecture_name(active_architecture())); },
        "The instruction set that the kernels run on.");
  m.def("architectures", &architectures, "The instruction sets that this build and this processor have.");

  nb::class_<Tree>(m, "Tree", "A kinematic tree broken down into axes that turn about or slide along their own z axis.")
      .def("__init__",
           [](Tree *self, Array<int32_t> parents, Array<uint8_t> prismatic, Array<double> placements,
              Array<int32_t> variables, Array<double> multipliers, Array<double> offsets, Array<int32_t> link_axes,
              Array<double> link_placements, Array<double> masses, Array<double> coms, Array<double> inertias,
              int dof) {
             new (self) Tree(make_tree(parents, prismatic, placements, variables, multipliers, offsets, link_axes,
                                       link_placements, masses, coms, inertias, dof));
           },
           "parents"_a, "prismatic"_a, "placements"_a, "variables"_a, "multipliers"_a, "offsets"_a, "link_axes"_a,
           "link_placements"_a, "masses"_a, "coms"_a, "inertias"_a, "dof"_a)
      .def_prop_ro("axis_count", [](const Tree &tree) { return tree.view().axis_count; })
      .def_prop_ro("link_count", [](const Tree &tree) { return tree.view().link_count; })
      .def_prop_ro("dof", [](const Tree &tree) { return tree.view().dof; });
}

}  // namespace memetik
