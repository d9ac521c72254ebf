"""External wrenches on bodies, brought to the links and to the ground origin."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..geometry.frames import Pose
from ..geometry.spatial import cross
from ..model.model import Model


def on_links(model: Model, at: Pose, wrenches: Float[Array, "bodies 6"] | None) -> Float[Array, "6 n"]:
    """Body wrenches (moment, then force at the body origin, in ground) as link wrenches at the ground origin."""
    total = jnp.zeros((6, len(model.tree.inboard)))
    if wrenches is None:
        return total
    link = model.tree.body_link
    moment, force = wrenches[:, :3].T, wrenches[:, 3:].T
    return total.at[:, link].set(jnp.concatenate([moment + cross(at.origin[:, link], force), force]))
