"""The whole state of a model: coordinates, speeds, activations, fibre lengths."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float


class State(eqx.Module):
    """Everything that changes as a model moves. Its rate of change has the same form."""

    q: Float[Array, " c"]
    """coordinates [rad, m]"""
    u: Float[Array, " c"]
    """speeds [rad/s, m/s]"""
    activation: Float[Array, " m"]
    """not used where activation follows the control at once"""
    fiber_length: Float[Array, " m"]
    """[m]; not used where the tendon is rigid"""
    time: Float[Array, ""] | float = 0.0
    """[s]; matters to prescribed coordinates, and to terms that depend on it"""
