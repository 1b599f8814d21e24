// The kinematic tree as the kernels see it: plain arrays, no containers, owned elsewhere.
//
// Every joint is broken down into axes. An axis turns about, or slides along, the z axis of its own frame:
//   frame(a) = frame(parent(a)) * placement(a) * Rz(angle)   or   ... * Tz(distance),
//   angle or distance = multiplier * q[variable] + offset.
// A link is fixed to the axis that moves it (or to the base, axis -1).
// Parents come before their children.
#pragma once

namespace memetik {

struct Placement {
  double R[9];  // row major
  double p[3];
};

struct Axis {
  Placement placement;
  double multiplier, offset;
  int parent;    // -1: the base
  int variable;  // entry of q
  bool prismatic;
};

struct LinkFrame {
  Placement placement;  // in the frame of its axis
  int axis;             // -1: the base
};

struct Inertia {
  double mass;
  double com[3];      // in the link's frame
  double inertia[9];  // about the centre of mass, in the link's axes
};

struct TreeView {
  const Axis *axes;
  const LinkFrame *links;
  const Inertia *inertias;  // one per link
  int axis_count, link_count, dof;
};

}  // namespace memetik
