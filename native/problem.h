// An inverse-kinematics problem as the kernels see it: plain arrays, owned elsewhere (problem.cpp).
//
// Goals are broken down into terms. A term is a residual of a few rows that depends on one frame (a point of a link),
// maybe relative to another frame, or on the joints alone. Its numbers stand in a block of `data`; targets left open
// are written there before each solve.
#pragma once

#include <cstdint>

#include "geometry.h"
#include "methods/options.h"
#include "tree.h"

namespace memetik {

enum class TermKind : int32_t {
  point,           // data: target R(9) p(3), lower(3), upper(3): R^T (x - p) outside [lower, upper]
  rotation,        // data: target R(9): twice the vector part of the quaternion of R_link R^T
  rotation_range,  // data: target R(9), lower(3), upper(3): rotation vector of R^T R_link outside the ranges
  swing_range,  // data: target R(9), axis(3), lower(3), upper(3): turn that takes the axis to R^T R_link axis, outside
                // the ranges
  align,        // data: axis in link(3), direction(3): R a - d
  twist,        // data: target R(9), axis(3), lower, upper: twist of R^T R_link about axis outside the range
  cone,         // data: axis(3), direction(3), lower, upper: angle(R a, d) outside the range
  side,         // data: axis(3), direction(3): positive part of (R a).d
  look_at,      // data: axis(3), point(3): R a - unit(point - x)
  line,         // data: point(3), direction(3): part of x - point across the direction
  plane,        // data: point(3), normal(3), lower, upper: (x - point).n outside the range
  distance,     // data: point(3), lower, upper: |x - point| outside the range
  repulsion,    // data: point(3), radius: 1 / (|x - point| - radius), continued linearly below a millimetre
  roll_pitch_yaw,  // data: centre(3), lower(3), upper(3): angles of R = Rz(yaw) Ry(pitch) Rx(roll) less centre, outside
                   // the ranges
  pivot,           // data: axis(3), start, end, point(3): point to the nearest point of the link's segment
  pivot_chain,     // data: point(3), count, then count frames from the base outwards, the term's frame last:
                   // point to the nearest point of the line through their origins
  view,            // data: axis(3), point(3), angle: angle(R a, point - x) beyond the angle
  incidence,       // data: point(3), normal(3), angle: angle(x - point, n) beyond the angle
  balance,         // data: point(3), gravity(3), line(3): centre of mass off the point, along neither vector
  support,         // data: count, then count times normal(3), offset: n.com - offset beyond zero
  joints,          // data: per variable: scale, centre, lower, upper: scale * (q - centre) outside [lower, upper]
  manipulability,  // data: mode (0 all, 1 translation, 2 rotation), reference
  effort,          // data: gravity(3), then per variable: scale: gravity torques
  compiled,  // data: two addresses, counts of links and joints, then frames, entries of q, variables (user_function.h)
  callback,  // data: none; evaluated by the owner
  point_distance,  // data: geometry, point(3), lower, upper: distance from the link's geometry to the point outside the
                   // range
  touch,  // data: geometry, point(3), normal(3), gap: height of the geometry's lowest point above the plane, less the
          // gap
  project_point,  // data: surface, axis(3), stand-off, least, most, whether there is a fallback, its R(9) p(3), six
                  // zeros: x less the point at the stand-off from where x + t R a, t in [least, most], meets the
                  // surface
  project_axis,   // data: likewise: R a plus the surface's normal there
  contacts,       // data: form, scale, reach, count, then count times a link, and another, an object or -1: clearances
};

// What a term on contacts makes of the clearances c below its reach (which is the scale for the first two).
enum class ContactForm : int32_t {
  margin,  // root of the sum of (scale - c)^2 over all contacts
  depth,   // scale - c of the nearest
  pairs,   // sum over pairs of groups and objects of (scale / c)^2, less its value at the reach
  least,   // (2 scale / (scale + c))^2 of the nearest, likewise
};

// In the data of contacts, objects are this much plus their key; smaller numbers are links.
constexpr double kObjectKeys = 1e6;

enum class Loss : int32_t { square, huber, groove, swamp, swamp_groove };

constexpr int kLossData = 4;  // parameters of a loss

struct Term {
  TermKind kind;
  Loss loss;
  int32_t goal;                       // which goal it belongs to
  int32_t frame, reference;           // frames, -1: the world (reference) or none (joint terms)
  int32_t row, rows;                  // its rows in the residual
  int32_t data, data_size;            // its block in the data
  int32_t axes, axis_count;           // its range in term_axes
  int32_t variables, variable_count;  // its range in term_variables, ascending
  int32_t guess;                      // its first row among the guesses of evaluations
  int32_t priority;                   // 0: must; 1, 2, ...: preferences
  double weight;                      // multiplies the residual
  double tolerance;                   // bound of the unweighted residual's norm, in metres or radians
  double loss_data[kLossData];
};

// One axis that moves a term: +1 on the way to its frame, -1 on the way to its reference.
struct TermAxis {
  int32_t axis;
  int32_t variable;      // active variable
  double sign;           // times the axis' multiplier
  int32_t of_reference;  // on the way to the reference
};

// An axis that some term needs. In `axis`, parent and variable count active axes and active variables;
// variable -1: held at the value that the full posture has at `source`.
struct ActiveAxis {
  Axis axis;
  int32_t source;
};

// A point of a link, with axes of its own.
struct LinkPoint {
  Placement placement;
  int32_t axis;  // active axis, -1: the base
};

struct Body {  // lumped mass on an axis, in that axis' frame
  double mass;
  double com[3];
  int32_t axis;
};

struct ProblemView {
  const ActiveAxis *axes;
  const LinkPoint *frames;
  const Term *terms;
  const TermAxis *term_axes;
  const int32_t *term_variables;
  const Body *bodies;
  const GeometryView *geometries;
  const double *lower, *upper;                // of the active variables; infinite where there is none
  const double *sample_lower, *sample_upper;  // finite: where random postures are drawn
  const int32_t *sources;                     // active variable -> entry of the full q
  const uint8_t *circular;                    // active variable may turn without end
  const uint8_t *wraps;                       // it turns, and its limits are a full turn apart or more
  const double *step_scale;                   // squared scale of each variable in the step's metric
  int32_t axis_count, frame_count, term_count, term_axis_count, body_count;
  int32_t variable_count, dof, row_count, must_rows, data_size, goal_count, callback_count, manipulability_count;
  int32_t contact_count, project_count;  // terms on contacts, and on where rays meet surfaces
  int32_t guess_count;                   // rows of guesses, one number a lane, that speed up the next evaluation
  double total_mass;
  double fixed_moment[3];  // mass times position of what the base carries
};

// Evaluates a user's goal, and its Jacobian where one is wanted (not null). Returns false when the user's code failed;
// the search then stops.
using Callback = bool (*)(void *context, int term, const double *q, double *residual, double *jacobian);

struct SearchOptions {
  int32_t islands = 4;
  int32_t population = 8;  // individuals kept per species
  int32_t elites = 4;      // of these, parents
  int32_t species = 2;
  int32_t local_iterations = 16;
  int32_t stagnation = 2;     // iterations without progress that end a local search
  double progress = 0.2;      // share of the error an iteration has to take away
  double random_share = 0.5;  // offspring drawn at random instead of bred
  double wipeout = 0.1;       // chance that the worse species dies when a generation brings nothing
  double mutation_low = 0.0;  // exponents of the mutation: 2^-low ... 2^-high of a joint's range
  double mutation_high = 6.0;
  double damping = 5e-2;
  double max_step = 1.5;          // largest change of a joint in one iteration
  int32_t round_iterations = 12;  // iterations before an island hands over
  int32_t refine_patience =
      48;  // local optima of the preferences in a row that bring nothing better end their refinement
  int32_t seed_patience = 16;  // iterations the seed's own basin may still take once another has an answer
  bool closed_form = true;     // where the arm has one
  bool climb = true;           // in a scene, islands improve postures that touch by their free length,
  bool push = true;            // or by pushing contacts away; with both, one island in four pushes
  MethodOptions method;        // of the other methods; islands and round_iterations are theirs too
};

struct Candidate {
  int32_t lane;
  int32_t valid;
};

}  // namespace memetik
