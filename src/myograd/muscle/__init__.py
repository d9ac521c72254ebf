"""Muscles: paths and their leverage, contraction, activation, EMG."""

import jax

jax.config.update("jax_enable_x64", True)  # activation and EMG need no model, whose loading switches it on
