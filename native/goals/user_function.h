// A goal that the user's own compiled code evaluates: plain functions, called without Python.
#pragma once

#include <cstdint>

namespace memetik {

// q: values of the goal's joints; poses: 16 numbers (4 x 4, row major) for each of its links, in the world.
using ResidualFunction = void (*)(const double *q, const double *poses, double *residual);
// Derivatives of the residual: by_joints (rows x joints), by_links (rows x links x 6: velocity of the link's origin,
// then angular velocity, axes of the world).
using DerivativeFunction = void (*)(const double *q, const double *poses, double *by_joints, double *by_links);

constexpr int kMostUserRows = 32, kMostUserLinks = 8, kMostUserJoints = 128;

// A term's data, read: two addresses (whole numbers below 2^53; the second 0 where there is none), counts of links and
// joints, then the links' frames, the joints' entries of q and their active variables (-1: none).
struct UserFunction {
  ResidualFunction residual;
  DerivativeFunction derivative;
  int links, joints, rows;
  const double *frames, *entries, *variables;

  UserFunction(const double *data, int rows);
  static int data_size(int links, int joints) { return 4 + links + 2 * joints; }

  // By the user's derivative, or else by central differences: joints and poses are moved one number at a time.
  void differentiate(double *q, double *poses, double *by_joints, double *by_links) const;
};

constexpr double kUnset = __builtin_nan("");  // in a residual that was not written

// What the search makes of a residual that is not finite: far from any goal, and flat.
constexpr double kUndefinedResidual = 1e6;

}  // namespace memetik
