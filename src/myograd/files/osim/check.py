"""What a model file holds that the library does not use, sorted by how much it matters."""

from __future__ import annotations

from myograd.model.description import SEVERITIES, ModelDescription, Unsupported


def check_description(description: ModelDescription) -> list[Unsupported]:
    """All that was not read, what matters most first, and in the order of the file where it matters alike."""
    return sorted(description.unsupported, key=lambda item: (SEVERITIES.index(item.severity), item.line))
