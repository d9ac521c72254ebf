"""Where a line crosses a rising curve of Bézier corners: the velocity of a damped fibre.

With gain >= 0 and damping > 0, `gain y + damping x = force` has one solution on the curve. Along a corner the left side is a
polynomial of the same family as x and y (`bezier`), which rises with s.
"""

from __future__ import annotations

import jax.numpy as jnp

from .bezier import BezierCurve, Vector, corner_of, parameter, quintic


def crossing(curve: BezierCurve, gain: Vector, damping: Vector, force: Vector) -> tuple[Vector, Vector]:
    """x and y of the curve where `gain y + damping x = force`."""
    at_knots = gain * curve.knot_values + damping * curve.knots
    within = jnp.where(force < at_knots[0], at_knots[0], jnp.where(force > at_knots[-1], at_knots[-1], force))
    px, py = corner_of(curve.x, at_knots, within), corner_of(curve.y, at_knots, within)
    s = parameter(tuple(gain * y + damping * x for x, y in zip(px, py, strict=True)), within)
    x, y = quintic(px, s), quintic(py, s)
    for end, beyond in ((0, force < at_knots[0]), (1, force > at_knots[-1])):
        along = jnp.where(beyond, force - at_knots[-end], 0.0) / (gain * curve.slopes[end] + damping)
        x, y = x + along, y + curve.slopes[end] * along
    return x, y
