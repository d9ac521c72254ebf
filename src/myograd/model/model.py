"""The compiled model: a few large arrays (JAX leaves, any of which can be a parameter) and a static structure.

Layout: components first, elements last (see `geometry.spatial`). Links and bodies: see `structure.Tree`. Every number is a
leaf; what is static is compared by value (`structure`), so that models of one template share compiled programs, and can be
stacked. What the file says is carried along (`Document`), and takes no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .._deprecated import old_attribute
from ..errors import ModelError
from ..force.contact_geometry import ContactSurfaces
from ..force.term import Term
from ..geometry.piecewise import PiecewisePolynomials
from ..geometry.values import Values
from .description import ModelDescription
from .structure import Constraints, Muscles, Names, Paths, PathWraps, Tree

AnyTerm = TypeVar("AnyTerm", bound=Term)


class Bodies(Values):
    mass: Float[Array, " bodies"]
    """[kg]"""
    mass_center: Float[Array, "3 bodies"]
    """in the body frame [m]"""
    inertia: Float[Array, "6 bodies"]
    """xx yy zz xy xz yz about the mass centre, in the body frame [kg m^2]"""


class Joints(Values):
    """Link k hangs on joint k; ground's entries (k = 0) are unused.

    The amounts of the transform axes are `y = slopes q + offsets + splines(q)`: rotations [rad] about and translations [m]
    along `axes`.
    """

    parent_rotation: Float[Array, "3 3 n"]
    parent_translation: Float[Array, "3 n"]
    child_rotation: Float[Array, "3 3 n"]
    child_translation: Float[Array, "3 n"]
    axes: Float[Array, "6 3 n"]
    slopes: Float[Array, "t c"]
    """transform axis by transform axis, links within: t = 6 n rows"""
    offsets: Float[Array, " t"]
    splines: PiecewisePolynomials
    radii: Float[Array, "3 e"]


class Coordinates(Values):
    default: Float[Array, " c"]
    default_speed: Float[Array, " c"]
    range: Float[Array, "2 c"]


class ConstraintParameters(Values):
    """Numbers of the constraints; which coordinates and links they tie is in `structure.Constraints`."""

    coupler_slopes: Float[Array, "d c"]
    coupler_offsets: Float[Array, " d"]
    coupler_splines: PiecewisePolynomials
    prescribed: PiecewisePolynomials
    weld_rotation: Float[Array, "2 3 3 w"]
    weld_location: Float[Array, "2 3 w"]
    point_location: Float[Array, "2 3 o"]
    distance_location: Float[Array, "2 3 x"]
    distance: Float[Array, " x"]


class PathValues(Values):
    location: Float[Array, "3 p"]
    """of fixed points in their body, of moving points' frames in theirs [m]"""
    moving_rotation: Float[Array, "3 3 v"]
    """of moving points' frames in their body"""
    moving_splines: PiecewisePolynomials
    """x, y, z of each moving point, one after the other: 3 v functions"""
    conditional_range: Float[Array, "2 k"]


class Surfaces(Values):
    """Wrapping surfaces."""

    rotation: Float[Array, "3 3 f"]
    """in the link"""
    translation: Float[Array, "3 f"]
    sizes: Float[Array, "3 f"]
    """cylinder: radius, length; sphere: radius; ellipsoid: half axes; torus: inner and outer radius [m]"""


class MuscleValues(Values):
    """One number per muscle. Zero, and not used, for classes that have no such number."""

    max_isometric_force: Float[Array, " m"]
    """[N]"""
    optimal_fiber_length: Float[Array, " m"]
    """[m]"""
    tendon_slack_length: Float[Array, " m"]
    """[m]"""
    pennation_angle: Float[Array, " m"]
    """at optimal fibre length [rad]"""
    max_contraction_velocity: Float[Array, " m"]
    """[optimal fibre lengths / s]"""
    activation_time_constant: Float[Array, " m"]
    """[s]"""
    deactivation_time_constant: Float[Array, " m"]
    """[s]"""
    fiber_damping: Float[Array, " m"]
    """force at the maximum velocity, per maximum isometric force"""
    tendon_strain_at_one_norm_force: Float[Array, " m"]
    numbers: dict[str, Float[Array, " m"]]
    """all other numbers of the classes that the model has, by the names that files give them: `minimum_activation`,
    `ForceVelocityCurve/isometric_slope`; see `description.muscle_properties`"""
    curves: dict[str, PiecewisePolynomials]
    """force curves that files give as functions, by name; m functions each"""


@dataclass(frozen=True, eq=False)
class Document:
    """What the file says: names, appearance and all else that no number depends on. The model carries it along, and saving
    uses it. All documents compare equal, so that models of different people share compiled programs."""

    description: ModelDescription
    fingerprint: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document)

    def __hash__(self) -> int:
        return hash(Document)


class Model(Values):
    """A body ready to be computed with. Made by `load_model` or `compile_model`; saved by `save_model`."""

    gravity: Float[Array, "3"]
    bodies: Bodies
    joints: Joints
    coordinates: Coordinates
    constraint_parameters: ConstraintParameters
    marker_location: Float[Array, "3 markers"]
    """in the base body's frame [m]"""
    path: PathValues
    surfaces: Surfaces
    muscles: MuscleValues
    contact_surfaces: ContactSurfaces
    terms: tuple[Term, ...]
    """forces other than muscles, and whatever else adds to the equation of motion"""
    fingerprint: Float[Array, ""]
    """of the document that the numbers came from: a compiled function may hand out one model's numbers with the document of
    another of equal structure, and saving must not mix the two"""
    tree: Tree = eqx.field(static=True)
    constraints: Constraints = eqx.field(static=True)
    paths: Paths = eqx.field(static=True)
    wraps: PathWraps = eqx.field(static=True)
    muscle_classes: Muscles = eqx.field(static=True)
    marker_link: tuple[int, ...] = eqx.field(static=True)
    names: Names = eqx.field(static=True)
    document: Document = eqx.field(static=True)

    source = old_attribute("Model.source", between=1)  # Equinox reads attributes by a function of its own
    ties = old_attribute("Model.ties", between=1)

    @property
    def name(self) -> str:
        return self.document.description.name

    @property
    def body_names(self) -> tuple[str, ...]:
        return self.names.bodies

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.names.coordinates

    @property
    def speed_names(self) -> tuple[str, ...]:
        """One speed per coordinate, under its name; not its rate in ball, free and ellipsoid joints."""
        return self.names.coordinates

    @property
    def muscle_names(self) -> tuple[str, ...]:
        return self.names.muscles

    @property
    def control_names(self) -> tuple[str, ...]:
        """Muscles and actuators in the order of the file: what controls are given for."""
        return self.names.controls

    @property
    def marker_names(self) -> tuple[str, ...]:
        return self.names.markers

    @property
    def independent_coordinates(self) -> tuple[str, ...]:
        """Coordinates that no coupler, lock or prescribed motion sets."""
        given = set(self.constraints.not_independent.tolist())
        return tuple(name for i, name in enumerate(self.names.coordinates) if i not in given)

    def default_pose(self) -> Float[Array, " c"]:
        """The file's default coordinate values; `assemble` makes them satisfy the constraints."""
        return jnp.asarray(self.coordinates.default)

    def term(self, kind: type[AnyTerm]) -> AnyTerm | None:
        """The model's term of this class, if it has one."""
        return next((term for term in self.terms if isinstance(term, kind)), None)

    def with_terms(self, *terms: Term) -> Model:
        """The same with more terms in its equation of motion."""
        for term in terms:
            if not isinstance(term, Term):
                raise ModelError(f"with_terms takes instances of Term, not {term!r}"[:200])
        return replace(self, terms=(*self.terms, *terms))

    def with_values(self, values: Mapping[str, Any]) -> Model:
        """A copy with other numbers, `{"femur_r.mass": 9.5}`: see `myograd.with_values`."""
        from .parameters import with_values

        return with_values(self, values)

    def __repr__(self) -> str:
        n = self.names
        stacked = np.shape(self.fingerprint)
        what = f"a stack of {stacked[0]} models like {self.name!r}" if stacked else repr(self.name)
        return (
            f"Model({what}: {len(n.bodies)} bodies, {len(n.coordinates)} coordinates, {len(n.muscles)} muscles, "
            f"{len(n.markers)} markers, {len(self.constraints.row_names)} constraint equations)"
        )


def own_document(model: Model, remedy: str) -> Document:
    """The document that the model carries, if its numbers are from it; else an error that ends with the remedy."""
    if isinstance(model.fingerprint, Tracer):
        raise ModelError(
            f"the document of {model.name!r} is asked for inside a compiled function, which may be called with other models: do "
            "this outside of it"
        )
    if np.ndim(model.fingerprint):
        raise ModelError("this is a stack of models: take one of them, jax.tree.map(lambda x: x[0], models)")
    if float(model.fingerprint) != model.document.fingerprint:
        raise ModelError(
            f"this model's numbers are not from the document that it carries, {model.name!r}. Either it was returned by a "
            "compiled function that was first called with another model of equal structure; or all its numbers were changed at "
            "once, its fingerprint among them (by an optimiser's weight decay, say; change only those that `Selection` names). "
            f"{remedy}"
        )
    return model.document
