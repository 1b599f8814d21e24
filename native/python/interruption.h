// Searches that end when Python has a signal to handle, or when a flag is set.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/stop_flag.h"
#include "motion/planner.h"
#include "python/gil.h"

namespace memetik {

// Signals are looked for on the thread that asked; a flag may be set by any.
inline Interrupted interrupted_by(const StopFlag *stop) {
  return [stop] {
    if (stop && stop->is_set()) return true;
    const AcquiredGil acquired;
    return PyErr_CheckSignals() != 0;
  };
}

// Tells a function of Python of shorter paths; what it raises ends the search.
inline Progress progress_to(const nanobind::object &function) {
  if (function.is_none()) return {};
  return [&function](double seconds, double length) {
    const AcquiredGil acquired;
    try {
      function(seconds, length);
    } catch (nanobind::python_error &error) {
      error.restore();
      return false;
    }
    return true;
  };
}

// With the interpreter's lock held: throws what a signal, or a function of progress, raised.
inline PathResult raise_interrupts(PathResult result) {
  if (PyErr_Occurred()) throw nanobind::python_error();
  return result;
}

}  // namespace memetik
