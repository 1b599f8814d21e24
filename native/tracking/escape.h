// Finds another configuration for a tracker that is stuck: a few iterations of the memetic search in each of its steps.
#pragma once

#include <vector>

#include "base/aligned_buffer.h"
#include "goals/problem.h"
#include "search/search_kernel.h"

namespace memetik {

class Escape {
 public:
  void prepare(const Problem &problem);

  // Begins anew at each stretch of being stuck.
  void begin() { running_ = false; }

  struct Place {
    const ProblemView &view;             // of the problem, as its axes stand now
    const double *data, *configuration;  // this step's targets, and values of joints that are no variables
    const double *variables;             // where the tracker is
    const double *velocity;              // per variable: largest change in one step
    Callback callback;
    void *context;
  };

  // Goes on with the search. True when it has chosen a configuration, in `found`: of those that meet the hard goals the
  // one that takes the fewest steps to reach; where none turns up, the best if it costs much less than `cost`.
  bool search(const Place &place, double cost, std::vector<double> &found);

 private:
  void start(const Place &place);
  void consider(const Place &place);

  const Problem *problem_ = nullptr;
  MemeticOptions options_;
  AlignedMemory memory_;
  IslandControl control_{};
  std::vector<double> candidate_, best_, buffer_, chosen_, nearest_;
  double nearest_steps_ = 0;
  int rounds_ = 0, first_ = 0, candidates_ = 0, better_ = 0;  // first_: the round of the first candidate
  uint64_t stretch_ = 0, steps_ = 0;
  bool running_ = false;
};

}  // namespace memetik
