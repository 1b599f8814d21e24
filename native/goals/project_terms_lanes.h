// A link on a surface, where the ray along one of its axes meets it. Included by kernels only.
#pragma once

#include "goals/evaluation_lanes.h"
#include "goals/frame_terms_lanes.h"
#include "goals/point_distance_terms_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// A term's data, read.
struct Projection {
  const double *axis;
  double stand_off, least, most;
  bool has_fallback;
  const double *fallback;  // as the data of a point term, whose first nine numbers are a rotation term's

  explicit Projection(const double *d)
      : axis(d + 1), stand_off(d[4]), least(d[5]), most(d[6]), has_fallback(d[7] != 0), fallback(d + 8) {}
};

inline void meet(const Surface &surface, const Projection &p, const Vector3 &x, const Vector3 &a, int32_t *guess,
                 RayHit &ray_hit) {
  Lane hit(0.0);
  ray_hit.along = Lane(0.0);
  ray_hit.face = ray_hit.normal = ray_hit.turning[0] = ray_hit.turning[1] = ray_hit.turning[2] = zero3();
  for (int lane = 0; lane < kWidth; ++lane) {
    double from[3], direction[3];
    store(x, lane, from);
    store(a, lane, direction);
    SurfaceHit found;
    if (surface_hit(surface, from, direction, p.least, p.most, found)) {
      set(hit, lane, 1.0);
      load(found.face, lane, ray_hit.face);
    } else if (!p.has_fallback) {
      found.along = surface_distance(surface, from, found.normal, guess[lane], found.turning);
    } else {
      continue;
    }
    for (int k = 0; k < 3; ++k) load(found.turning + 3 * k, lane, ray_hit.turning[k]);
    set(ray_hit.along, lane, found.along);
    load(found.normal, lane, ray_hit.normal);
  }
  ray_hit.hit = hit > Lane(0.5);
}

MEMETIK_INLINE Row choose_row(const Mask &m, const Row &a, const Row &b) {
  return {select(m, a.r, b.r), choose(m, a.linear, b.linear), choose(m, a.angular, b.angular)};
}

// The point h = x + t a that is met stays on the plane of its triangle, across f: as x moves by v and a turns by w,
// dh = P (v + t w x a) with P = I - a f^T / f.a. This is P^T u.
MEMETIK_INLINE Vector3 along_plane(const RayHit &ray_hit, const Vector3 &a, const Vector3 &u) {
  const Lane cosine = dot(ray_hit.face, a);
  return u - (dot(a, u) * select(ray_hit.hit, 1.0 / select(ray_hit.hit, cosine, Lane(1.0)), Lane(0.0))) * ray_hit.face;
}

MEMETIK_INLINE Vector3 unit(int k) { return {Lane(double(k == 0)), Lane(double(k == 1)), Lane(double(k == 2))}; }

// r = x - (h + stand_off n) where the ray hits, which changes by v - (I + stand_off dn/dh) dh.
// Where it misses, h is the nearest point: r = (height - stand_off) n, which changes by (n n^T + (height - stand_off)
// dn/dx) v.
inline void project_point_rows(const ProblemView &v, const Evaluation &e, const Term &term, const double *d,
                               const Frame &f, Row *rows) {
  const Projection p(d);
  const Vector3 a = turn(f, vector(p.axis));
  RayHit &ray_hit = e.ray_hit[term.guess];
  meet(*v.geometries[int(d[0])].surfaces[0], p, f.p, a, e.guess + size_t(term.guess) * kWidth, ray_hit);
  const Lane t = ray_hit.along, stand_off(p.stand_off);
  const Lane n[3] = {ray_hit.normal.x, ray_hit.normal.y, ray_hit.normal.z}, along[3] = {a.x, a.y, a.z};
  Row away[3];
  if (p.has_fallback) point_rows(p.fallback, f, away);
  for (int k = 0; k < 3; ++k) {
    const Vector3 moved = along_plane(ray_hit, a, unit(k) + stand_off * ray_hit.turning[k]);
    const Row hit = {-(t * along[k]) - stand_off * n[k], unit(k) - moved, -(t * cross(a, moved))};
    const Vector3 climbing = n[k] * ray_hit.normal + (t - stand_off) * ray_hit.turning[k];
    const Row miss = p.has_fallback ? away[k] : Row{(t - stand_off) * n[k], climbing, zero3()};
    rows[k] = choose_row(ray_hit.hit, hit, miss);
  }
}

// r = a + n, the axis against the normal, which changes by w x a + dn/dh dh; where there is none, the turn from the
// fallback. The term before has met the surface already.
inline void project_axis_rows(const ProblemView &, const Evaluation &e, const Term &term, const double *d,
                              const Frame &f, Row *rows) {
  const Projection p(d);
  const Vector3 a = turn(f, vector(p.axis));
  const RayHit &ray_hit = e.ray_hit[term.guess];
  const Vector3 r = a + ray_hit.normal;
  const Lane component[3] = {r.x, r.y, r.z};
  Row away[3];
  if (p.has_fallback) rotation_rows(p.fallback, f, away);
  for (int k = 0; k < 3; ++k) {
    const Vector3 turned = along_plane(ray_hit, a, ray_hit.turning[k]);
    const Row hit = {component[k], turned, cross(a, unit(k) + ray_hit.along * turned)};
    const Row miss = p.has_fallback ? away[k] : Row{component[k], ray_hit.turning[k], cross(a, unit(k))};
    rows[k] = choose_row(ray_hit.hit, hit, miss);
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
