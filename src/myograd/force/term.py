"""Terms of the equation of motion, which is a sum of them:

    sum (M_k udot + b_k) + G^T lambda = sum tau_k,       G udot + gamma = 0

A term says what it adds of inertia M_k, bias b_k, force tau_k, energy, and the force's tangent, and between which coordinates
it has inertia. Rigid links are one (`dynamics.terms`), each class of springs and contacts is another (this room); mass along
muscles, soft segments and tissue add theirs. What a term does not say is zero, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from .._arrays import as_array
from ..geometry.frames import Motion, Pose, Wrench
from ..geometry.piecewise import PiecewisePolynomials
from ..geometry.values import Values
from ..model.description import Function

if TYPE_CHECKING:
    from ..model.model import Model

Vector = Float[Array, " c"]


class Instant(eqx.Module):
    """All that a term may depend on, at one moment of a motion."""

    time: Float[Array, ""] | float
    q: Vector
    u: Vector
    at: Pose
    moving: Motion
    controls: Float[Array, " k"] | None = None
    """of `model.control_names`; None where no force is asked for"""
    length: Float[Array, " p"] | None = None
    """of the paths (`names.paths`) [m], and their lengthening speeds [m/s]"""
    speed: Float[Array, " p"] | None = None


class Loads(NamedTuple):
    """A term's force in the forms in which forces add up; None is zero."""

    coordinates: Vector | None = None
    """generalised forces [N m, N]"""
    tensions: Float[Array, " p"] | None = None
    """along paths [N]"""
    wrenches: Wrench | None = None
    """on links"""


class Energy(NamedTuple):
    """[J]"""

    kinetic: Float[Array, ""] | float = 0.0
    gravitational: Float[Array, ""] | float = 0.0
    elastic: Float[Array, ""] | float = 0.0


class Term(Values):
    """One addend. Subclasses override what they have; what has inertia says between which coordinates (`coupled`)."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {name for base in cls.__mro__[: cls.__mro__.index(Term)] for name in vars(base)}
        inertial = own & {"inertia", "bias", "inertia_block", "inertia_times", "needed", "first_moment", "momentum"}
        if inertial and "coupled" not in own:
            raise TypeError(
                f"{cls.__name__} has {', '.join(sorted(inertial))}, which are asked for only where `coupled` says between which "
                "coordinates there is inertia: add it"
            )

    def coupled(self, model: Model) -> np.ndarray | None:
        """[c, c] bool: between which coordinates there may be inertia, a constant of the structure. None: there is none."""
        return None

    def inertia(self, model: Model, now: Instant) -> Float[Array, "c c"]:
        """M_k, symmetric; asked for only where `coupled` is not None."""
        raise NotImplementedError(f"{type(self).__name__} couples coordinates, but has no inertia")

    def bias(self, model: Model, now: Instant) -> Vector:
        """b_k: velocity terms, less gravity; asked for as `inertia`."""
        raise NotImplementedError(f"{type(self).__name__} couples coordinates, but has no bias")

    def inertia_block(self, model: Model, now: Instant, which: np.ndarray) -> Float[Array, "k k"]:
        """M_k of some coordinates only."""
        return self.inertia(model, now)[np.ix_(which, which)]

    def inertia_times(self, model: Model, now: Instant, x: Vector) -> Vector:
        """`M_k x`, which may be cheaper than M_k."""
        return self.inertia(model, now) @ x

    def needed(self, model: Model, now: Instant, udot: Vector) -> Vector:
        """`M_k udot + b_k`"""
        return self.inertia_times(model, now, udot) + self.bias(model, now)

    def first_moment(self, model: Model, now: Instant) -> Float[Array, "4"]:
        """Mass [kg], and mass times position in ground [kg m]; asked for by `center_of_mass`."""
        raise NotImplementedError(
            f"{type(self).__name__} has inertia, but does not say where its mass is (first_moment)"
        )

    def momentum(self, model: Model, now: Instant) -> Float[Array, "6"]:
        """Angular about the ground origin [kg m^2/s], then linear [kg m/s]."""
        raise NotImplementedError(
            f"{type(self).__name__} has inertia, but does not say what its momentum is (momentum)"
        )

    def force(self, model: Model, now: Instant) -> Loads:
        """tau_k."""
        return Loads()

    def energy(self, model: Model, now: Instant) -> Energy:
        """Of what is conserved: dissipation and actuators have none. Kinetic and gravitational: only where `coupled` is not
        None."""
        return Energy()

    def tangent(self, model: Model, now: Instant) -> tuple[Float[Array, "c c"], Float[Array, "c c"]]:
        """d tau_k / dq and d tau_k / du. A term that overrides this is differentiated by it along q and u, in all else as others:
        for one that knows it better than differentiation does (a finite element solve, say)."""
        raise NotImplementedError


@runtime_checkable
class Places(Protocol):
    """Where on the model a description's names are: what laws are made with."""

    def on_link(self, path: str) -> tuple[int, np.ndarray, np.ndarray]:
        """Link that a frame is fixed to, and the frame's rotation [3, 3] and origin [3] in it."""
        ...

    def coordinate(self, name: str, owner: str) -> int: ...

    def path(self, owner: object) -> int: ...

    def control(self, name: str) -> int: ...

    def is_rotation(self, coordinate: str) -> bool: ...

    def surface(self, name: str, owner: str) -> int: ...

    def surface_kind(self, surface: int) -> str: ...

    def surface_frame(self, surface: int) -> str: ...

    def functions(self, functions: Sequence[tuple[Function, str]]) -> PiecewisePolynomials:
        """Functions of one variable, each with the name of its owner for errors, as one table."""
        ...


class Law(Term):
    """All forces of one class of OpenSim that a model has and applies, in the order of the file; numbers are `[..., n]`."""

    describes: ClassVar[type]
    """the class of descriptions"""
    reported_as: ClassVar[str] = "{}"
    """what OpenSim's ForceReporter calls a force of this name"""
    names: tuple[str, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, forces: Sequence[Any], places: Places) -> Law:
        """From descriptions."""
        raise NotImplementedError

    def write(self, forces: Sequence[Any]) -> None:
        """The numbers into the descriptions that they came from."""
        raise NotImplementedError

    def amounts(self, now: Instant) -> Float[Array, " n"] | None:
        """What each force is, where that is one number: a tension [N], or a force on its coordinate [N m, N]."""
        return None


# Making and writing ------------------------------------------------------------------------------------------


def column(forces: Sequence[Any], name: str) -> Float[Array, " n"]:
    """One number of every force."""
    return as_array([getattr(force, name) for force in forces])


def last(rows: Sequence[Any], shape: tuple[int, ...]) -> Float[Array, "*shape n"]:
    """`[*shape, n]` from n rows."""
    return as_array(np.moveaxis(np.array(rows, float).reshape(-1, *shape), 0, -1))


SAME = 1e-15  # relative: values closer than this to a description's own are left as the file spells them


def put(item: Any, attribute: str, value: Any) -> None:
    """Set a number, or a tuple of them, unless it is there already."""
    numbers = np.asarray(value, float)
    if numbers.shape != np.shape(getattr(item, attribute)) or not np.allclose(
        numbers, getattr(item, attribute), rtol=SAME, atol=0.0, equal_nan=True
    ):
        setattr(item, attribute, float(numbers) if numbers.ndim == 0 else tuple(float(x) for x in numbers))


def put_each(items: Sequence[Any], attribute: str, values: Any) -> None:
    """Element i gets column i: a number of a row, a tuple of a matrix."""
    array = np.asarray(values)
    for i, item in enumerate(items):
        put(item, attribute, array[..., i])
