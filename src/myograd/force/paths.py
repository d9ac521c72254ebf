"""Tensions along paths other than muscles'.

PathActuator  T = control * optimal force
PathSpring    T = K (L - L_rest) (1 + D Ldot)            while L > L_rest
Ligament      T = F_pcsa f(L / L_rest)                   while L > L_rest
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..geometry.piecewise import evaluate
from ..model.model import Model


def path_tensions(
    model: Model, length: Float[Array, " m"], speed: Float[Array, " m"], controls: Float[Array, " k"]
) -> Float[Array, " m"]:
    """Tension along every path [N], zero along muscles', from the paths' lengths [m] and speeds [m/s]."""
    parts, values = model.force_parts, model.forces
    turning = len(parts.actuated_coordinate)
    actuation = values.actuator_force[turning:] * controls[parts.actuator_control[turning:]]
    springs, ligaments = values.path_springs, values.ligaments
    beyond = length[parts.spring_path] - springs.resting_length
    stretch = jnp.where(beyond > 0, beyond, 0.0)
    elastic = springs.stiffness * stretch * (1 + springs.dissipation * speed[parts.spring_path])
    strained = length[parts.ligament_path] / ligaments.resting_length
    ligament = jnp.where(strained > 1, evaluate(ligaments.curve, strained)[0] * ligaments.pcsa_force, 0.0)
    which = np.concatenate([parts.actuated_path, parts.spring_path, parts.ligament_path])
    if len(which) == 0:
        return jnp.zeros_like(length)
    return jnp.concatenate([actuation, elastic, ligament]) @ np.eye(len(model.names.paths))[which]
