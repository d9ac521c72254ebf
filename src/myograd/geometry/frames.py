"""Many frames in ground: where they are, how they move, and points and wrenches on them.

Spatial vectors are expressed in ground at the ground origin, angular above linear (see `spatial`).
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .spatial import cross, rotate

Wrench = Float[Array, "6 n"]
"""Moment about the ground origin [N m] above force [N]."""


class Pose(eqx.Module):
    """Where the links of a body are, and the screws that move them."""

    rotation: Float[Array, "3 3 n"]
    """of each link in ground; ground is link 0"""
    origin: Float[Array, "3 n"]
    """of each link in ground [m]"""
    axis_screws: Float[Array, "6 a"]
    """motion of the outboard links per unit rate of each axis"""
    screws: Float[Array, "6 c"]
    """motion of the outboard links per unit speed of each coordinate"""


class Motion(eqx.Module):
    """How links move, for given speeds and no accelerations of the coordinates."""

    velocity: Float[Array, "6 n"]
    bias_acceleration: Float[Array, "6 n"]


def placed(at: Pose, link: np.ndarray, location: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    """Points fixed to links, in ground [m]."""
    return rotate(at.rotation[:, :, link], location) + at.origin[:, link]


def point_velocity(V: Float[Array, "6 p"], position: Float[Array, "3 p"]) -> Float[Array, "3 p"]:
    """Velocity of points that move with spatial velocity V."""
    return V[3:] + cross(V[:3], position)


def point_acceleration(
    A: Float[Array, "6 p"], V: Float[Array, "6 p"], position: Float[Array, "3 p"]
) -> Float[Array, "3 p"]:
    """Acceleration of body-fixed points from spatial acceleration A and velocity V."""
    return A[3:] + cross(A[:3], position) + cross(V[:3], point_velocity(V, position))


def wrench(point: Float[Array, "3 n"], force: Float[Array, "3 n"]) -> Wrench:
    """Of a force [N] at a point of ground [m]."""
    return jnp.concatenate([cross(point, force), force])


def between_links(at: Pose, links: np.ndarray, second: Wrench) -> Float[Array, "6 links"]:
    """Sum of wrenches on the second link of each pair `links` [n, 2], and of their opposites on the first."""
    count = at.origin.shape[1]
    return second @ (np.eye(count)[links[:, 1]] - np.eye(count)[links[:, 0]])
