"""The length of a path over an ellipsoid as a function of its series of heights, and Newton's step to the shortest.

`ends` [2, 3]: p and s on the unit sphere's scale; `shape` [2, 3, 3]: metric and curvature of the ellipsoid in the path's
frame; `z`: the series. The equations are in `geometry.wrap.ellipsoid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..ritz import Rule
from .vectors import compiled, room, root, sine_cosine

_LONGEST = 0.3  # step in k
_TINY = 1e-24  # keeps speeds of arcs and lengths of lines from zero


@compiled
def touching(k: float, ends: np.ndarray, end: int) -> tuple[float, float, float]:
    """The point of the unit sphere at height k where a line from the end touches it, and its d theta / d k."""
    x, y, z = ends[end, 0], ends[end, 1], ends[end, 2]
    rest, square, rho2 = 1 - k * z, x * x + y * y, 1 - k * k
    aside = (1.0 if end == 0 else -1.0) * root(rho2 * square - rest * rest)
    slope = rho2 * aside
    return (
        (rest * x + aside * y) / square,
        (rest * y - aside * x) / square,
        (z - k) / (slope if slope != 0 else 1.0),
    )


@compiled
def _upper(shape: np.ndarray, which: int) -> tuple[float, float, float, float, float, float]:
    """Of the metric (0) or the curvature (1)."""
    return (
        shape[which, 0, 0],
        shape[which, 0, 1],
        shape[which, 0, 2],
        shape[which, 1, 1],
        shape[which, 1, 2],
        shape[which, 2, 2],
    )


@compiled
def _line(k: float, ends: np.ndarray, end: int, shape: np.ndarray) -> tuple[float, float, float, float]:
    """Where the line from an end touches the sphere at height k, as theta, and the line's length; both with slopes in k."""
    m00, m01, m02, m11, m12, m22 = _upper(shape, 0)
    x, y, theta_k = touching(k, ends, end)
    gx, gy, gz = x - ends[end, 0], y - ends[end, 1], k - ends[end, 2]
    px, py, pz = m00 * gx + m01 * gy + m02 * gz, m01 * gx + m11 * gy + m12 * gz, m02 * gx + m12 * gy + m22 * gz
    line = math.sqrt(px * gx + py * gy + pz * gz + _TINY * m00)
    spread = k / (1 - k * k)
    line_k = (px * (theta_k * y - spread * x) - py * (theta_k * x + spread * y) + pz) / line
    return math.atan2(x, y), theta_k, line, line_k


class Tables(NamedTuple):
    """A rule's tables. The compiler works on several nodes at once: they come last, and are filled up to a multiple of 4 by
    some of weight 0."""

    real: int
    terms: int
    most: int
    basis: np.ndarray  # [terms, most]
    slopes: np.ndarray
    bends: np.ndarray
    derivative: np.ndarray
    shares: np.ndarray  # [most]
    ways: np.ndarray  # [terms] at t = -1; all are 1 at t = 1
    weights: np.ndarray  # [most]


def tables_of(rule: Rule) -> Tables:
    real, terms = rule.basis.shape
    most = -(-real // 4) * 4

    def filled(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.pad(x, [(0, most - real)] + [(0, 0)] * (x.ndim - 1), mode="edge").T)

    return Tables(
        real,
        terms,
        most,
        filled(rule.basis),
        filled(rule.slopes),
        filled(rule.bends),
        filled(rule.derivative),
        filled(rule.shares)[1].copy(),
        np.array([(1.0, -1.0)[j % 2] for j in range(terms)]),
        np.pad(rule.weights, (0, most - real)),
    )


def second_variation_by(of: Tables) -> Callable[..., None]:
    """The second derivatives of the length, for one rule, whose tables and sizes the compiler then knows."""
    terms, most, last = of.terms, of.most, of.real - 1
    basis, basis_slopes, basis_bends, derivative, shares, ways = (
        of.basis,
        of.slopes,
        of.bends,
        of.derivative,
        of.shares,
        of.ways,
    )

    @compiled
    def second(z, at, dtheta, density, speed, bent, H, weights) -> None:
        """The second variation: `w` is the sideways motion of the path per term, `dw` its derivative.

        Moved by (d theta, d k), a path moves sideways by w = density (theta' d k - k' d theta).
        """
        count = len(weights)
        theta0_k, theta1_k = at[0, 1], at[1, 1]
        w, dw, curled = room(terms, most), room(terms, most), room(most)
        grown, dk, ddk, width = room(most), room(most), room(most), room(most)
        for i in range(count):
            grown[i] = dk[i] = ddk[i] = 0.0
            width[i] = math.sqrt(weights[i] / speed[i])
        for n in range(last + 1):
            for i in range(count):
                grown[i] += derivative[n, i] * density[n]
        for j in range(1, terms):
            for i in range(count):
                dk[i] += basis_slopes[j, i] * z[j]
                ddk[i] += basis_bends[j, i] * z[j]
        for j in range(terms):
            sign = ways[j]
            for i in range(count):
                share, here = shares[i], density[i]
                from_first, from_last = sign * (1 - share) * theta0_k, share * theta1_k
                aside = basis[j, i] * dtheta - (from_first + from_last) * dk[i]
                turn = 0.5 * (theta1_k - sign * theta0_k)
                slope = basis_slopes[j, i] * dtheta - (from_first + from_last) * ddk[i] - turn * dk[i]
                w[j, i] = here * aside
                dw[j, i] = width[i] * (grown[i] * aside + here * slope)
        for j in range(terms):
            at_first, at_last = w[j, 0] / at[0, 2], w[j, last] / at[1, 2]
            for i in range(count):
                curled[i] = bent[i] * w[j, i]
            for n in range(j + 1):
                total = at_first * w[n, 0] + at_last * w[n, last]
                for i in range(count):
                    total += dw[j, i] * dw[n, i] - curled[i] * w[n, i]
                H[j, n] = total

    return second


def length_by(of: Tables) -> Callable[..., float]:
    """The length and its derivatives, likewise."""
    terms, most = of.terms, of.most
    basis, basis_slopes, shares, ways = of.basis, of.slopes, of.shares, of.ways
    second = second_variation_by(of)

    @compiled
    def length(z, ends, shape, volume, H, g, with_bends, weights):
        """The length of the path with the series z; its slopes with z go to `g`, its second derivatives to `H` if asked for."""
        total, count = 0.0, len(weights)
        m00, m01, m02, m11, m12, m22 = _upper(shape, 0)
        c00, c01, c02, c11, c12, c22 = _upper(shape, 1)
        tiny = _TINY * m00
        at = room(2, 4)  # of both ends: theta, theta_k, line, line_k
        for end in range(2):
            k = 0.0
            for j in range(terms):
                k += z[j] * (1.0 if end == 1 else ways[j])
            at[end, 0], at[end, 1], at[end, 2], at[end, 3] = _line(k, ends, end, shape)
            total += at[end, 2]
        first, turn = at[0, 0], at[1, 0] - at[0, 0]
        dtheta = turn / 2
        heights, climbs = room(most), room(most)
        for i in range(count):
            heights[i] = z[0]
            climbs[i] = 0.0
        for j in range(1, terms):
            for i in range(count):
                heights[i] += basis[j, i] * z[j]
                climbs[i] += basis_slopes[j, i] * z[j]
        density, speed, bent = room(most), room(most), room(most)
        by_k, by_dk = room(most), room(most)  # slopes with k and k' at the nodes
        by_first = by_last = 0.0  # slopes with theta at both ends
        for i in range(count):
            k, dk, share, weight = heights[i], climbs[i], shares[i], weights[i]
            sine, cosine = sine_cosine(first + share * turn)
            square = 1 - k * k
            rho = math.sqrt(square if square > 1e-6 else 1e-6)
            rho_k = -k / rho
            x, y = rho * sine, rho * cosine
            drho = rho_k * dk
            dx, dy = drho * sine + dtheta * y, drho * cosine - dtheta * x
            gx, gy, gz = m00 * dx + m01 * dy + m02 * dk, m01 * dx + m11 * dy + m12 * dk, m02 * dx + m12 * dy + m22 * dk
            f = math.sqrt(gx * dx + gy * dy + gz * dk + tiny)
            per_f = 1 / f
            gx, gy, gz = gx * per_f, gy * per_f, gz * per_f
            radial, around = gx * sine + gy * cosine, gx * cosine - gy * sine
            rho_kk = (rho_k * rho_k + 1) / rho
            f_theta, f_dtheta = weight * (gx * dy - gy * dx), weight * (gx * y - gy * x)
            by_k[i] = weight * (rho_k * dtheta * around - dk * rho_kk * radial)
            by_dk[i] = weight * (rho_k * radial + gz)
            by_first += (1 - share) * f_theta - 0.5 * f_dtheta
            by_last += share * f_theta + 0.5 * f_dtheta
            total += weight * f
            curved = c00 * x * x + c11 * y * y + c22 * k * k + 2 * (c01 * x * y + c02 * x * k + c12 * y * k)
            density[i], speed[i] = volume * math.sqrt(curved) * per_f, f
            bent[i] = weight * f / (volume * curved) ** 2
        by_first, by_last = by_first * at[0, 1] + at[0, 3], by_last * at[1, 1] + at[1, 3]
        for j in range(terms):
            slope = by_last + ways[j] * by_first
            for i in range(count):
                slope += by_k[i] * basis[j, i] + by_dk[i] * basis_slopes[j, i]
            g[j] = slope
        if with_bends:
            second(z, at, dtheta, density, speed, bent, H, weights)
        return total

    return length


def step_by(of: Tables) -> Callable[..., tuple[float, float]]:
    """Newton's step, likewise."""
    terms = of.terms

    @compiled
    def step(z, H, g, anew):
        """Newton's step from slopes g: its largest entry and what it takes off the length. If anew, H becomes its factor:
        H = L D L^T with L below the diagonal, 1 / D on it, and L D, mirrored, above."""
        if anew:
            for j in range(terms):
                pivot = H[j, j]
                for i in range(j):
                    scaled = H[j, i]
                    for k in range(i):
                        scaled -= H[k, j] * H[i, k]
                    H[i, j] = scaled
                    H[j, i] = scaled * H[i, i]
                    pivot -= scaled * H[j, i]
                H[j, j] = 1 / pivot if pivot != 0 else 1.0
        dz = room(terms)
        for j in range(terms):
            value = g[j]
            for k in range(j):
                value -= H[j, k] * dz[k]
            dz[j] = value
        for j in range(terms):
            dz[j] *= H[j, j]
        for j in range(terms - 1, -1, -1):
            for k in range(j):  # of the terms before it
                dz[k] -= H[j, k] * dz[j]
        largest = gained = 0.0
        for j in range(terms):
            largest = max(largest, abs(dz[j]))
            gained += g[j] * dz[j] / 2
        if not largest < np.inf:
            return np.inf, 0.0
        share = _LONGEST / max(largest, _LONGEST)
        for j in range(terms):
            z[j] -= share * dz[j]
        return largest, gained

    return step
