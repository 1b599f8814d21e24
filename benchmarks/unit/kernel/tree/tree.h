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

// All links that move with one axis, taken as one rigid body, in the frame of that axis.
struct AxisBody {
  double mass;
  double moment[3];   // mass * centre of mass
  double inertia[6];  // about the frame's origin: xx, yy, zz, xy, xz, yz
};

struct TreeView {
  const Axis *axes;
  const LinkFrame *links;
  const Inertia *inertias;  // one per link
  const AxisBody *bodies;   // one per axis
  AxisBody base;            // the links that do not move, in the world
  double mass;              // of all links
  int axis_count, link_count, dof;
};

}  // namespace memetik
