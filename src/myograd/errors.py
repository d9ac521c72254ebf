"""The errors and warnings that users see. Each message says what is wrong, where, and what would be right."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_NOT_THE_USERS = {"myograd", "jax", "equinox", "jaxtyping", "beartype", "functools", "contextlib"}
"""Packages whose code may lie between a function that warns and the user's line that called it."""


def quoted(path: object) -> str:
    """A file's name as messages write it: in quotation marks if it has spaces or would otherwise end unseen."""
    text = str(path)
    return text if text and not any(c.isspace() or c in "'\"" for c in text) else repr(text)


class MyogradError(Exception):
    """Anything that Myograd refuses to do, with the reason."""


class FileFormatError(MyogradError):
    """A file cannot be read as what it should be."""

    def __init__(self, message: str, path: object = "", line: int = 0):
        where = f"{quoted(path)}:{line}: " if path and line else f"{quoted(path)}: " if path else ""
        super().__init__(where + message)
        self.path, self.line = path, line


class ModelError(MyogradError):
    """A model is inconsistent, or lacks what a computation needs."""


class UnsupportedError(ModelError):
    """The answer would depend on parts of the model that are not supported: `names`, which can be left out."""

    def __init__(self, problem: str, names: Sequence[str]):
        self.problem, self.names = problem, tuple(names)
        self.them = "it" if len(names) == 1 else "them"
        listed = ", ".join(map(repr, names)) + "," * (len(names) == 1)
        super().__init__(f"{problem}. To leave {self.them} out, pass accept=({listed})")


class UnsupportedWarning(UserWarning):
    """A model file holds parts that are not used."""


class ActivationWarning(UserWarning):
    """An activation, excitation or EMG envelope outside 0 to 1 was clamped."""


class ControlWarning(UserWarning):
    """A table of controls leaves out muscles or actuators, which are then not excited."""


class DuplicateNameWarning(UserWarning):
    """Elements of a model file share a name; all but the first were renamed, as OpenSim does."""


class FiberLengthWarning(UserWarning):
    """A fibre length is shorter than its muscle allows, and was clamped to that; or longer than the muscle's path."""


class AngleWarning(UserWarning):
    """An angle is so large that it is probably in degrees."""


class MotionWarning(UserWarning):
    """A table of motion does not say all that a model needs; the message says what was assumed."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line that led here, however many functions of ours lie between."""
    frame = sys._getframe(1)
    while frame.f_back and (
        str(frame.f_globals.get("__name__")).split(".")[0] in _NOT_THE_USERS
        or frame.f_code.co_filename.startswith(("<@beartype", "<frozen"))
    ):
        frame = frame.f_back
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, category, *place, frame.f_globals.setdefault("__warningregistry__", {}))


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` or, failing a near match, the first few known names."""
    known = list(known)
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    if not known:
        return "; there are none"
    return f"; there are: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
