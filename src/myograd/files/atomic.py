"""Write a file whole or not at all: into a temporary file beside it, which then takes its name."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from myograd.errors import MyogradError


def write_text(path: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Write `text` (or its pieces, one after the other) to `path` as UTF-8 with LF line ends.

    A failure at any moment, also while the pieces are being made, leaves what was at `path` untouched.
    """
    pieces = (text,) if isinstance(text, str) else text
    try:
        write_bytes(path, (piece.encode() for piece in pieces))
    except UnicodeEncodeError as error:
        rubbish = error.object[error.start : error.end]
        raise MyogradError(f"{path}: cannot be written: {rubbish!r} is not text") from error


def write_bytes(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write pieces to `path`, one after the other."""
    target = Path(path).resolve()  # a link stays a link: its target is replaced
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise MyogradError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # after a success it is no longer there
            temporary.unlink()
