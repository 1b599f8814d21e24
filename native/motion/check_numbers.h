#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace memetik {

// Throws std::invalid_argument unless there are `size` numbers, all of them finite; infinite ones may be let through.
inline void check_numbers(const std::vector<double> &values, const char *name, size_t size, bool finite = true) {
  if (values.size() != size)
    throw std::invalid_argument(std::string(name) + " must hold " + std::to_string(size) + " numbers, not " +
                                std::to_string(values.size()) + ".");
  for (const double value : values)
    if (finite ? !std::isfinite(value) : std::isnan(value))
      throw std::invalid_argument(std::string(name) + " must hold numbers" + (finite ? " that are finite." : "."));
}

}  // namespace memetik
