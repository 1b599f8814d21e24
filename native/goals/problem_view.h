// An inverse-kinematics problem as the kernels see it: plain arrays, owned elsewhere (problem.cpp).
// Goals are broken down into terms; term.h has their kinds.
#pragma once

#include <cstdint>

#include "geometry/geometry_view.h"
#include "goals/term.h"
#include "tree/tree.h"

namespace memetik {

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
  int32_t priority;                   // 0: hard; 1, 2, ...: soft
  double weight;                      // multiplies the residual
  double tolerance;                   // bound of the unweighted residual's norm, in metres or radians
  double loss_data[kLossData];
};

// One axis that moves a term: +1 on the path to its frame, -1 on the path to its reference.
struct TermAxis {
  int32_t axis;
  int32_t variable;      // active variable
  double sign;           // times the axis' multiplier
  int32_t of_reference;  // on the path to the reference
};

// An axis that some term needs. In `axis`, parent and variable count active axes and active variables;
// variable -1: held at the value that the full configuration has at `source`.
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
  const double *sample_lower, *sample_upper;  // finite: where random configurations are drawn
  const int32_t *q_index;                     // active variable -> entry of the full q
  const uint8_t *continuous;                  // active variable may turn without end
  const uint8_t *spans_full_turn;             // it turns, and its limits are a full turn apart or more
  // The first goal_axis_count axes are those that terms need; the others move nothing but bodies to keep apart.
  int32_t axis_count, goal_axis_count, frame_count, term_count, term_axis_count, body_count;
  int32_t variable_count, dof, row_count, hard_rows, data_size, goal_count, callback_count, manipulability_count;
  int32_t contact_count, project_count;  // terms on contacts, and on where rays meet surfaces
  int32_t guess_count;                   // rows of guesses, one number a lane, that speed up the next evaluation
  double total_mass;
  double fixed_moment[3];  // mass times position of what the base carries
};

// The terms of a problem that asks for the pose of one link and nothing else; -1: none.
struct PoseView {
  int32_t point, rotation;
};

// Evaluates a user's goal, and its Jacobian where one is needed (not null). Returns false when the user's code failed;
// the search then stops.
using Callback = bool (*)(void *context, int term, const double *q, double *residual, double *jacobian);

}  // namespace memetik
