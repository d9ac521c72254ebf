"""The classical Runge-Kutta method of order 4 (Eq. A-6 of paper 003)."""

from __future__ import annotations

from typing import Any, ClassVar

import diffrax
import numpy as np


class RK4(diffrax.AbstractERK):
    """Order 4, 4 stages, steps of one length."""

    tableau: ClassVar = diffrax.ButcherTableau(
        a_lower=(np.array([1 / 2]), np.array([0.0, 1 / 2]), np.array([0.0, 0.0, 1.0])),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.zeros(4),  # there is no second solution to compare with
        c=np.array([1 / 2, 1 / 2, 1.0]),
    )
    interpolation_cls: ClassVar = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: Any) -> int:
        return 4
