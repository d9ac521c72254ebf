"""The whole state of a model: coordinates, speeds, activations, fibre lengths."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float

from .._arrays import as_array


class State(eqx.Module):
    """Everything that changes as a model moves. Its rate of change has the same form; so has a whole motion, one row per time.

    Lists and NumPy arrays are taken, and become arrays of JAX's.
    """

    q: Float[Array, "*n c"] = eqx.field(converter=as_array)
    """coordinates [rad, m]"""
    u: Float[Array, "*n c"] = eqx.field(converter=as_array)
    """speeds [rad/s, m/s]"""
    activation: Float[Array, "*n m"] = eqx.field(converter=as_array)
    """not used where activation follows the control at once"""
    fiber_length: Float[Array, "*n m"] = eqx.field(converter=as_array)
    """[m]; not used where the tendon is rigid"""
    time: Float[Array, "*n"] = eqx.field(converter=as_array, default=0.0)
    """[s]; matters to prescribed coordinates, and to terms that depend on it"""
