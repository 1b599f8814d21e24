#include "motion/averaged.h"

#include <algorithm>
#include <stdexcept>

namespace memetik {
namespace {

constexpr double kSameTime = 1e-10;  // seconds: breaks that are nearer to each other are one

// The integral of a motion since time 0, as polynomials that can be taken about any time.
class Integral {
 public:
  explicit Integral(const PolynomialPieces &motion) : motion_(motion), begin_(motion.pieces + 1, 0.0) {
    const size_t columns = motion.columns;
    sums_.assign((motion.pieces + 1) * columns, 0.0);
    for (size_t n = 0; n < motion.pieces; ++n) {
      begin_[n + 1] = begin_[n] + motion.spans[n];
      for (size_t k = 0; k < columns; ++k) {
        double sum = 0;
        for (size_t p = motion.powers; p-- > 0;) sum = (sum + at(n, p, k) / double(p + 1)) * motion.spans[n];
        sums_[(n + 1) * columns + k] = sums_[n * columns + k] + sum;
      }
    }
  }

  double end() const { return begin_.back(); }
  const std::vector<double> &breaks() const { return begin_; }

  // Adds sign times the integral as a polynomial of the time since `time`, for a piece that holds `inside`.
  void add(double time, double inside, double sign, double *out) const {
    const size_t columns = motion_.columns;
    const bool before = inside<0, after = inside> end();
    const size_t piece =
        after    ? motion_.pieces
        : before ? 0
                 : std::min(motion_.pieces - 1,
                            size_t(std::upper_bound(begin_.begin(), begin_.end(), inside) - begin_.begin()) - 1);
    const double local = time - begin_[piece];
    for (size_t k = 0; k < columns; ++k) {
      double c[kMostPowers + 1] = {sums_[piece * columns + k]};
      size_t powers = 2;
      if (before || after) {
        c[1] = before ? at(0, 0, k) : end_value(k);
      } else {
        powers = motion_.powers + 1;
        for (size_t p = 0; p < motion_.powers; ++p) c[p + 1] = at(piece, p, k) / double(p + 1);
      }
      // Taylor's shift by `local`.
      for (size_t i = 0; i + 1 < powers; ++i)
        for (size_t j = powers - 1; j-- > i;) c[j] += local * c[j + 1];
      for (size_t p = 0; p < powers; ++p) out[p * columns + k] += sign * c[p];
    }
  }

 private:
  double at(size_t piece, size_t power, size_t column) const {
    return motion_.coefficients[(piece * motion_.powers + power) * motion_.columns + column];
  }
  double end_value(size_t column) const {
    double value = 0;
    for (size_t p = motion_.powers; p-- > 0;)
      value = value * motion_.spans[motion_.pieces - 1] + at(motion_.pieces - 1, p, column);
    return value;
  }

  const PolynomialPieces &motion_;
  std::vector<double> begin_, sums_;  // of the pieces, and of the end
};

}  // namespace

AveragedMotion averaged(const PolynomialPieces &motion, double window) {
  if (motion.pieces == 0 || motion.powers == 0) throw std::invalid_argument("a motion has at least one piece.");
  if (motion.powers + 1 > kMostPowers) throw std::invalid_argument("the pieces' degree is too high.");
  if (!(window > 1e-6 && window < 1e6)) throw std::invalid_argument("window must be from 1e-6 to 1e6 s.");
  const Integral integral(motion);
  const size_t powers = motion.powers + 1, columns = motion.columns;
  std::vector<double> breaks = integral.breaks();
  for (const double time : integral.breaks()) breaks.push_back(time + window);
  std::sort(breaks.begin(), breaks.end());
  AveragedMotion result;
  const double end = integral.end() + window;
  for (const double time : breaks)
    if (time < end - kSameTime && (result.times.empty() || time > result.times.back() + kSameTime))
      result.times.push_back(time);
  result.times.push_back(end);
  result.coefficients.assign((result.times.size() - 1) * powers * columns, 0.0);
  for (size_t n = 0; n + 1 < result.times.size(); ++n) {
    double *out = result.coefficients.data() + n * powers * columns;
    const double time = result.times[n], middle = 0.5 * (time + result.times[n + 1]);
    integral.add(time, middle, 1 / window, out);
    integral.add(time - window, middle - window, -1 / window, out);
  }
  // It starts where the motion starts, to the last bit.
  std::copy(motion.coefficients, motion.coefficients + columns, result.coefficients.begin());
  return result;
}

}  // namespace memetik
