// One step of a tracker: what its kernel shares with the core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "goals/problem_view.h"

namespace memetik {

struct TrackControl {
  const double *data;           // the terms' data with this step's targets
  const double *configuration;  // full configuration at the end of this step, for joints that are no variables
  Callback callback;
  void *context;
  double *buffer;  // for callbacks

  const double *start;                    // variables before the step
  const double *low, *high;               // bounds of their change in this step
  const double *guess;                    // a change to begin with
  const double *coast;                    // the change that a joint makes where nothing asks for another
  const double *metric;                   // squared scale of each variable: large for fast joints
  const double *velocity, *acceleration;  // V and A of braking.h
  const double *reference;                // the configuration that the freedom left by the goals is drawn to
  double reference_weight;
  double pull;  // change of velocity in one step, as a share of what soft goals ask for
  double damping;
  int32_t iterations;
  bool settle;  // only come nearer to the targets: the guess is as good an answer, and nothing has to brake
  bool fresh;   // there was no step before: nothing is known of how the targets move

  double *missed;  // must rows: residual after the last step, and after this one
  double *change;  // of the variables
  double cost;     // of the hard goals after this step
  bool within;     // every must is within its tolerance
  int32_t evaluations;
};

struct TrackKernels {
  size_t (*bytes)(const ProblemView &);
  void (*start)(const ProblemView &, void *memory);
  bool (*step)(const ProblemView &, void *memory, TrackControl &);
};

const TrackKernels &active_track_kernels();

}  // namespace memetik
