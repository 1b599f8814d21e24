// A problem as it is stated: plain structs, from which Problem is compiled.
#pragma once

#include <memory>
#include <vector>

#include "geometry/link_geometry.h"
#include "goals/term.h"
#include "tree/owned_tree.h"

namespace memetik {

struct LossSpec {
  Loss kind = Loss::square;
  std::vector<double> parameters;  // loss.cpp says which
};

struct TermSpec {
  TermKind kind = TermKind::point;
  LossSpec loss;
  int goal = 0;                    // which goal it belongs to
  int frame = -1, reference = -1;  // indices into the frames; -1: none, the world
  int priority = 0;                // 0: hard; 1, 2, ...: soft
  int rows = -1;                   // -1: as the kind has them
  double weight = 1, tolerance = 1e-5;
  std::vector<int> entries;  // entries of q that a term on joints or of the user's own depends on
  std::vector<double> data;  // term.h says what it holds
};

// How many joints a term binds by one of the counts of its kind. A range that is not narrow binds none: most
// configurations are inside it.
int count_demands(const TermSpec &spec, const Demand &demand);

// A frame fixed to a link.
struct FrameSpec {
  int link = 0;
  Placement placement{};  // in the link's frame
};

// What an open target holds, so that rotations and directions are checked before they are used.
MEMETIK_ENUM(TargetForm, numbers, pose, rotation, direction)

struct TargetSpec {
  int size = 0;
  TargetForm form = TargetForm::numbers;
  int dimensions = 1;  // of the array that holds one
};

// A number of an open target that goes into a term's data at each solve.
struct TargetCopy {
  int target = 0, source = 0, term = 0, destination = 0;
};

// An entry of the seed that goes into a term's data at each solve.
struct SeedCopy {
  int entry = 0, term = 0, destination = 0;
};

struct ProblemSpec {
  std::shared_ptr<const Tree> tree;
  std::vector<FrameSpec> frames;
  std::vector<TermSpec> terms;
  std::vector<double> lower, upper;  // of the full q; infinite where there is none
  std::vector<int> held;             // entries of q that keep the seed's value
  std::vector<int> named;            // entries that soft goals name: they move, whether or not another goal moves them
  std::vector<TargetSpec> targets;
  std::vector<TargetCopy> target_copies;
  std::vector<SeedCopy> seed_copies;
  bool collision = false;  // whether the robot's bodies are placed, to be kept apart
  std::vector<std::shared_ptr<const Geometry>> geometries;
};

}  // namespace memetik
