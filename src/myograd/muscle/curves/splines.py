"""Force curves that a file gives as functions (of Schutte1993Muscle_Deprecated and RigidTendonMuscle)."""

from __future__ import annotations

from jaxtyping import Array, Float

from ...geometry.piecewise import PiecewisePolynomials, evaluate


def spline_value(curves: PiecewisePolynomials, x: Float[Array, " m"]) -> Float[Array, " m"]:
    """Of one curve per muscle."""
    return evaluate(curves, x)[0]
