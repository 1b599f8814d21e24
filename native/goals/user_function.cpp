#include "goals/user_function.h"

#include <cmath>

namespace memetik {
namespace {

constexpr double kStep = 1e-6;  // metres and radians

// Turns a pose's axes about one of the world's by an angle; its origin stays.
void turn_pose(double *pose, int axis, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  double *first = pose + 4 * ((axis + 1) % 3), *second = pose + 4 * ((axis + 2) % 3);
  for (int k = 0; k < 3; ++k) {
    const double x = first[k], y = second[k];
    first[k] = c * x - s * y;
    second[k] = s * x + c * y;
  }
}

}  // namespace

UserFunction::UserFunction(const double *data, int rows)
    : residual(reinterpret_cast<ResidualFunction>(uintptr_t(data[0]))),
      derivative(reinterpret_cast<DerivativeFunction>(uintptr_t(data[1]))),
      links(int(data[2])),
      joints(int(data[3])),
      rows(rows),
      frames(data + 4),
      entries(frames + links),
      variables(entries + joints) {}

void UserFunction::differentiate(double *q, double *poses, double *by_joints, double *by_links) const {
  if (derivative) return derivative(q, poses, by_joints, by_links);
  double ahead[kMostUserRows], behind[kMostUserRows];
  const auto store = [&](double *column, int stride) {
    for (int r = 0; r < rows; ++r) column[r * stride] = (ahead[r] - behind[r]) / (2 * kStep);
  };
  for (int j = 0; j < joints; ++j) {
    const double value = q[j];
    q[j] = value + kStep, residual(q, poses, ahead);
    q[j] = value - kStep, residual(q, poses, behind);
    q[j] = value;
    store(by_joints + j, joints);
  }
  for (int l = 0; l < links; ++l) {
    double *pose = poses + 16 * l, kept[16];
    for (int k = 0; k < 16; ++k) kept[k] = pose[k];
    const auto restore = [&] {
      for (int k = 0; k < 16; ++k) pose[k] = kept[k];
    };
    for (int c = 0; c < 6; ++c) {
      const auto move = [&](double step) {
        if (c < 3)
          pose[4 * c + 3] += step;
        else
          turn_pose(pose, c - 3, step);
      };
      move(kStep), residual(q, poses, ahead), restore();
      move(-kStep), residual(q, poses, behind), restore();
      store(by_links + 6 * l + c, 6 * links);
    }
  }
}

}  // namespace memetik
