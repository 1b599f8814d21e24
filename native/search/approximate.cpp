#include "base/aligned_buffer.h"
#include "search/steps.h"

namespace memetik {
namespace {

// Calls of the kernel that approaches a target among contacts: these many, and more while none has found a free
// configuration.
constexpr int kApproaches = 3, kMostApproaches = 12;

// Among contacts: the best configuration without any, as far as a few searches tell.
void approach_among_contacts(SolveState &state, IslandState &island) {
  std::vector<double> nearest = island.best;
  double least = 1e300;
  for (int k = 0; k < kApproaches || (least >= 1e300 && k < kMostApproaches); ++k) {
    if (k > 0 && least < 1e300 && state.elapsed() > state.options.timeout) break;
    std::vector<double> tried = nearest;
    const double cost = active_search_kernels().approach(state.instance.view, state.memetic, island.memory,
                                                         island.control, tried.data());
    if (cost < least) least = cost, nearest = tried;
  }
  if (least >= 1e300) return;
  for (IslandState &other : state.islands) other.control.best_cost = 1e300;
  island.best = nearest, island.control.best = island.best.data(), island.control.best_cost = least;
  state.outcome.collision_free = true;
}

}  // namespace

void approximate(SolveState &state) {
  const ProblemView &view = state.instance.view;
  const SearchKernels &kernels = active_search_kernels();
  IslandState *best = nullptr;
  for (IslandState &island : state.islands)
    if (island.started && (!best || island.control.best_cost < best->control.best_cost)) best = &island;
  best->control.trace = nullptr;
  if (!state.options.method.is_memetic()) {  // what follows works on the memetic search's memory
    static thread_local AlignedMemory memory;
    best->memory = memory.get(kernels.island.bytes(view, &state.memetic));
    const Counts counts = best->control.counts;
    kernels.island.start(view, &state.memetic, best->memory, best->control);
    best->control.counts = counts;
  }
  if (state.instance.has_collision()) return approach_among_contacts(state, *best);
  best->control.best_cost = kernels.polish(view, state.memetic, best->memory, best->control, best->best.data());
}

}  // namespace memetik
