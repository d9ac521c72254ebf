"""The errors and warnings that users see. Each message says what is wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class MyogradError(Exception):
    """Anything that Myograd refuses to do, with the reason."""


class FileFormatError(MyogradError):
    """A file cannot be read as what it should be."""

    def __init__(self, message: str, path: object = "", line: int = 0):
        where = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + message)
        self.path, self.line = path, line


class ModelError(MyogradError):
    """A model is inconsistent, or lacks what a computation needs."""


class UnsupportedError(ModelError):
    """The answer would depend on parts of the model that are not supported."""


class UnsupportedWarning(UserWarning):
    """A model file holds parts that are not used."""


class ActivationWarning(UserWarning):
    """An activation, excitation or EMG envelope outside 0 to 1 was clamped."""


class ControlWarning(UserWarning):
    """A table of controls leaves out muscles or actuators, which are then not excited."""


class FiberLengthWarning(UserWarning):
    """A fibre length is shorter than its muscle allows, and was clamped to that; or longer than the muscle's path."""


class AngleWarning(UserWarning):
    """An angle is so large that it is probably in degrees."""


class MotionWarning(UserWarning):
    """A table of motion does not say all that a model needs; the message says what was assumed."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` or, failing a near match, the first few known names."""
    known = list(known)
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    if not known:
        return "; there are none"
    return f"; there are: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
