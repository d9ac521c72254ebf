"""What a model file contains and the library does not use, sorted by how much it matters."""

from __future__ import annotations

from myograd.model.description import SEVERITIES, ModelDescription, Unsupported


def check_description(description: ModelDescription) -> list[Unsupported]:
    """All that is not used: what matters most first, otherwise in the order of the file."""
    return sorted(description.unsupported, key=lambda item: (SEVERITIES.index(item.severity), item.line))
