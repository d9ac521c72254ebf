"""Forces other than muscles, each class made into one term."""

from __future__ import annotations

from ...force.contact_geometry import ContactSurfaces
from ...force.laws import LAWS
from ...force.term import Law
from .. import description as d
from .places import Places


def applied(description: d.ModelDescription, law: type[Law]) -> list[d.Force]:
    """The forces of a law's class that the file has switched on."""
    return [force for force in description.forces if isinstance(force, law.describes) and force.applies_force]


def control_names(description: d.ModelDescription) -> tuple[str, ...]:
    """Muscles and actuators in the order of the file."""
    actuators = [x for x in description.forces if isinstance(x, d.CoordinateActuator | d.PathActuator)]
    return tuple(x.name for x in d.in_file_order(description.muscles, actuators))


def compile_forces(description: d.ModelDescription, places: Places) -> tuple[ContactSurfaces, tuple[Law, ...]]:
    found = ((law, applied(description, law)) for law in LAWS)
    return ContactSurfaces.of(description.contacts, places), tuple(law.of(x, places) for law, x in found if x)
