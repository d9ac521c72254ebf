"""What recordings leave open, in words: numbers that may change together without the residual showing it.

A singular vector of the Jacobian with a small singular value is a change of the vector z that the residual hardly shows. The
entries of z are not the numbers themselves (those of a body are a matrix's), so the change is carried over to the numbers, to
first order; and it is as long as makes the one that changes most, measured by what was unknown of it before, change by that much.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..parameters import Number, default_prior
from .fit import Fit
from .uncertainty import Uncertainty, advice

MOST = 3  # numbers that are named of a combination
MATTERS = 0.15  # of the greatest change, measured by what was unknown before


@dataclass(frozen=True)
class Change:
    """Of one number, in its own unit."""

    number: Number
    value: float
    """that was found"""
    by: float

    def text(self) -> str:
        """`ulna.mass up 12 %`; by an amount where the number is negative, or smaller than its change."""
        way = "up" if self.by > 0 else "down"
        if abs(self.by) < self.value:
            return f"{self.number.name} {way} {100 * abs(self.by) / self.value:.2g} %"
        return f"{self.number.name} {way} {abs(self.by):.2g} {self.number.unit}".rstrip()


@dataclass(frozen=True)
class Undetermined:
    """Numbers that may change together."""

    changes: tuple[Change, ...]
    """the most important ones"""
    others: int
    """how many more change with them"""
    needs: str
    """movements that would show it"""

    def text(self) -> str:
        also = f" (and {self.others} more)" if self.others else ""
        return ", ".join(change.text() for change in self.changes) + also


def undetermined(fit: Fit, uncertainty: Uncertainty, most: int = 6) -> list[Undetermined]:
    """Combinations that the recordings do not determine to within 100 %, worst first, without the prior."""
    p = fit.problem.parameters
    scale = p.scales()
    per = np.asarray(jax.jacfwd(p.physical)(jnp.asarray(fit.z))) * scale
    _, A = (fit.prior or default_prior(p, fit.z)).rows(p, fit.z)
    before = np.sqrt(np.sum((per @ np.linalg.inv(A)) ** 2, axis=1))
    found = []
    for row in uncertainty.combinations[uncertainty.singular <= 1][::-1][:most]:
        change = per @ row
        part = change / before
        order = np.argsort(-np.abs(part))
        matters = [int(i) for i in order if abs(part[i]) > MATTERS * abs(part[order[0]])]
        named = matters[:MOST]
        found.append(
            Undetermined(
                tuple(Change(p.numbers[i], float(fit.physical[i]), float(change[i] / part[order[0]])) for i in named),
                len(matters) - len(named),
                advice(p.numbers[named[0]].field),
            )
        )
    return found
