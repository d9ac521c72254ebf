"""Numbers that do not change: what a model is made of."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import equinox as eqx


class Values(eqx.Module):
    """Numbers of a model. They do not change; trying to says how a changed copy is made."""

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except FrozenInstanceError:
            raise FrozenInstanceError(
                f"a model does not change, so {name!r} cannot be set; a changed copy is made by "
                "mg.with_values(model, {'femur_r.mass': 9.5}), or of whole arrays by eqx.tree_at"
            ) from None
