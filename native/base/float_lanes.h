// Lanes of single precision: eight numbers that advance together. Included by kernels only.
//
// For questions whose answer allows for rounding, such as "is this farther away than ... for sure?".
#pragma once

#include <cstdint>

#include "base/lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

#if defined(__AVX2__)
constexpr int kFloatParts = 1;
#else
constexpr int kFloatParts = 2;
#endif
constexpr int kFloatWidth = 8;
using FloatPart = float __attribute__((vector_size(32 / kFloatParts)));
using IntPart = int32_t __attribute__((vector_size(32 / kFloatParts)));

struct FloatMask {
  IntPart v[kFloatParts];
};

struct Floats {
  FloatPart v[kFloatParts];

  Floats() = default;
  MEMETIK_INLINE Floats(float x) {
    for (auto &part : v) part = x - FloatPart{};
  }
};

#define MEMETIK_FLOAT_OPERATOR(op)                                    \
  MEMETIK_INLINE Floats operator op(const Floats &a, const Floats &b) { \
    Floats r;                                                         \
    for (int i = 0; i < kFloatParts; ++i) r.v[i] = a.v[i] op b.v[i];  \
    return r;                                                         \
  }
MEMETIK_FLOAT_OPERATOR(+)
MEMETIK_FLOAT_OPERATOR(-)
MEMETIK_FLOAT_OPERATOR(*)
MEMETIK_FLOAT_OPERATOR(/)
#undef MEMETIK_FLOAT_OPERATOR

#define MEMETIK_FLOAT_COMPARISON(op)                                     \
  MEMETIK_INLINE FloatMask operator op(const Floats &a, const Floats &b) { \
    FloatMask r;                                                         \
    for (int i = 0; i < kFloatParts; ++i) r.v[i] = a.v[i] op b.v[i];     \
    return r;                                                            \
  }
MEMETIK_FLOAT_COMPARISON(<)
MEMETIK_FLOAT_COMPARISON(>)
MEMETIK_FLOAT_COMPARISON(<=)
MEMETIK_FLOAT_COMPARISON(>=)
#undef MEMETIK_FLOAT_COMPARISON

#define MEMETIK_MASK_OPERATOR(op)                                             \
  MEMETIK_INLINE FloatMask operator op(const FloatMask &a, const FloatMask &b) { \
    FloatMask r;                                                              \
    for (int i = 0; i < kFloatParts; ++i) r.v[i] = a.v[i] op b.v[i];          \
    return r;                                                                 \
  }
MEMETIK_MASK_OPERATOR(&)
MEMETIK_MASK_OPERATOR(|)
#undef MEMETIK_MASK_OPERATOR

MEMETIK_INLINE Floats operator-(const Floats &a) {
  Floats r;
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = -a.v[i];
  return r;
}

MEMETIK_INLINE Floats select(const FloatMask &m, const Floats &a, const Floats &b) {
  Floats r;
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = m.v[i] ? a.v[i] : b.v[i];
  return r;
}

MEMETIK_INLINE Floats max(const Floats &a, const Floats &b) {
  Floats r;
#if defined(__AVX2__)
  r.v[0] = FloatPart(_mm256_max_ps(__m256(a.v[0]), __m256(b.v[0])));
#else
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
#endif
  return r;
}
MEMETIK_INLINE Floats min(const Floats &a, const Floats &b) {
  Floats r;
#if defined(__AVX2__)
  r.v[0] = FloatPart(_mm256_min_ps(__m256(a.v[0]), __m256(b.v[0])));
#else
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
#endif
  return r;
}
MEMETIK_INLINE Floats abs(const Floats &a) {
  Floats r;
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = FloatPart(IntPart(a.v[i]) & INT32_MAX);
  return r;
}
MEMETIK_INLINE Floats sqrt(const Floats &a) {
  Floats r;
#if defined(__AVX2__)
  r.v[0] = FloatPart(_mm256_sqrt_ps(__m256(a.v[0])));
#elif defined(__SSE2__)
  for (int i = 0; i < kFloatParts; ++i) r.v[i] = FloatPart(_mm_sqrt_ps(__m128(a.v[i])));
#else
  for (int i = 0; i < kFloatParts; ++i)
    for (int k = 0; k < kFloatWidth / kFloatParts; ++k) r.v[i][k] = __builtin_sqrtf(a.v[i][k]);
#endif
  return r;
}

// Each bit of the result says whether that lane of the mask is set.
MEMETIK_INLINE unsigned bits(const FloatMask &m) {
#if defined(__AVX2__)
  return unsigned(_mm256_movemask_ps(__m256(m.v[0])));
#elif defined(__SSE2__)
  return unsigned(_mm_movemask_ps(__m128(m.v[0]))) | unsigned(_mm_movemask_ps(__m128(m.v[1]))) << 4;
#else
  unsigned r = 0;
  for (int i = 0; i < kFloatWidth; ++i)
    r |= unsigned(m.v[i / (kFloatWidth / kFloatParts)][i % (kFloatWidth / kFloatParts)] & 1) << i;
  return r;
#endif
}

MEMETIK_INLINE Floats load(const float *values) {
  Floats r;
  __builtin_memcpy(&r, values, sizeof(r));
  return r;
}
MEMETIK_INLINE void store(const Floats &a, float *values) { __builtin_memcpy(values, &a, sizeof(a)); }
MEMETIK_INLINE float get(const Floats &a, int lane) { return reinterpret_cast<const float *>(&a)[lane]; }

MEMETIK_INLINE float least(const Floats &a) {
  float values[kFloatWidth], r;
  store(a, values);
  r = values[0];
  for (int i = 1; i < kFloatWidth; ++i) r = values[i] < r ? values[i] : r;
  return r;
}
MEMETIK_INLINE float most(const Floats &a) { return -least(-a); }

// sin and cos for |x| <= pi with an absolute error below 2^-22: a remainder within pi/4 of a quarter turn, and the
// polynomials of the Cephes library.
MEMETIK_INLINE void sincos(const Floats &x, Floats &s, Floats &c) {
  const Floats magic(12582912.0f);  // 1.5 * 2^23: adding and taking it away rounds to whole numbers
  const Floats shifted = x * Floats(0.636619772f) + magic;
  const Floats n = shifted - magic;
  Floats r = x - n * Floats(1.5703125f);
  r = r - n * Floats(4.837512969970703125e-4f);
  r = r - n * Floats(7.549789948768648e-8f);
  const Floats z = r * r;
  Floats p = Floats(-1.9515295891e-4f) * z + Floats(8.3321608736e-3f);
  p = p * z + Floats(-1.6666654611e-1f);
  const Floats sine = r + r * z * p;
  Floats k = Floats(2.443315711809948e-5f) * z + Floats(-1.388731625493765e-3f);
  k = k * z + Floats(4.166664568298827e-2f);
  const Floats cosine = Floats(1.0f) - Floats(0.5f) * z + z * z * k;
  for (int i = 0; i < kFloatParts; ++i) {
    const IntPart quarter = IntPart(shifted.v[i]);
    const IntPart odd = -(quarter & 1), sine_sign = (quarter & 2) << 30, cosine_sign = ((quarter + 1) & 2) << 30;
    const IntPart exchange = (IntPart(sine.v[i]) ^ IntPart(cosine.v[i])) & odd;
    s.v[i] = FloatPart((IntPart(sine.v[i]) ^ exchange) ^ sine_sign);
    c.v[i] = FloatPart((IntPart(cosine.v[i]) ^ exchange) ^ cosine_sign);
  }
}

struct Floats3 {
  Floats x, y, z;
};
MEMETIK_INLINE Floats3 operator+(const Floats3 &a, const Floats3 &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
MEMETIK_INLINE Floats3 operator-(const Floats3 &a, const Floats3 &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
MEMETIK_INLINE Floats3 operator*(const Floats &s, const Floats3 &a) { return {s * a.x, s * a.y, s * a.z}; }
MEMETIK_INLINE Floats dot(const Floats3 &a, const Floats3 &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
MEMETIK_INLINE Floats3 cross(const Floats3 &a, const Floats3 &b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A pose; the columns of the rotation are the frame's axes.
struct FloatFrame {
  Floats3 x, y, z, p;
};
MEMETIK_INLINE Floats3 turned(const FloatFrame &f, float x, float y, float z) {
  return Floats(x) * f.x + Floats(y) * f.y + Floats(z) * f.z;
}
MEMETIK_INLINE Floats3 placed(const FloatFrame &f, float x, float y, float z) { return f.p + turned(f, x, y, z); }

}  // namespace MEMETIK_ARCH
}  // namespace memetik
