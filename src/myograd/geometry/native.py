"""Functions compiled by Numba as parts of XLA programs, by XLA's foreign function interface (xla/ffi/api/c_api.h, version 0.3).

A handler is a C function of one argument, the address of a call frame: a row of 8-byte words that holds, among others, the
addresses of the arguments and results. It returns 0. See `muscle.search` for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from .search.vectors import compiled

_VERSION = 3 << 32  # of the interface: major 0, minor 3
_METADATA = 1  # type of the extension by which XLA asks for it
_ARGUMENTS, _RESULTS = 9, 14  # words of the frame
_DATA, _RANK, _DIMENSIONS = 3, 4, 5  # words of a buffer


@intrinsic
def _pointer(typing_context: Any, address: Any, to: Any) -> Any:
    """An address as pointer to elements of the type `to`."""
    kind = types.CPointer(to.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.PointerType(context.get_data_type(to.dtype)))

    return kind(types.int64, to), generate


@compiled
def words(address: int, count: int) -> np.ndarray:
    return numba.carray(_pointer(address, np.int64), count)


@compiled
def floats(address: int, count: int) -> np.ndarray:
    return numba.carray(_pointer(address, np.float64), count)


@compiled
def flags(address: int, count: int) -> np.ndarray:
    return numba.carray(_pointer(address, np.uint8), count)


@compiled
def answers_query(frame: np.ndarray) -> bool:
    """Whether the call only asks which version of the interface the handler is for; then it has its answer."""
    if frame[1] == 0:
        return False
    extension = words(frame[1], 4)
    if extension[1] & 0xFFFFFFFF != _METADATA:
        return False
    metadata = words(extension[3], 5)
    metadata[3], metadata[4] = _VERSION, 0
    return True


@compiled
def _buffer(frame: np.ndarray, where: int, i: int) -> tuple[int, np.ndarray]:
    buffer = words(words(frame[where], i + 1)[i], 6)
    return buffer[_DATA], words(buffer[_DIMENSIONS], buffer[_RANK])


@compiled
def argument(frame: np.ndarray, i: int) -> tuple[int, np.ndarray]:
    """Address and shape."""
    return _buffer(frame, _ARGUMENTS, i)


@compiled
def result(frame: np.ndarray, i: int) -> tuple[int, np.ndarray]:
    return _buffer(frame, _RESULTS, i)


@compiled
def rows(shape: np.ndarray, own: int) -> int:
    """How many elements of a batch an array holds whose elements have `own` axes."""
    count = 1
    for i in range(len(shape) - own):
        count *= shape[i]
    return count


@compiled
def row(shape: np.ndarray, batch: np.ndarray, n: int) -> int:
    """Which element of an argument of this shape belongs to element n of the batch, whose shape is `batch`: axes of length 1
    serve all."""
    at, size = 0, 1
    for i in range(len(batch) - 1, -1, -1):
        if shape[i] > 1:
            at += size * (n % batch[i])
        size *= shape[i]
        n //= batch[i]
    return at


class _SourcesCache(FunctionCache):
    """Compiled code on disk, kept as long as none of the package's compiled sources changes. Numba's own looks at the one
    file that the function is in."""

    def __init__(self, function: Callable[..., Any], digest: str):
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=digest
        )


def registered(name: str, handler: Callable[..., Any], sources: list[Path]) -> str:
    """`name`, under which XLA programs may from now on call the handler; `sources`: the files that it is made of."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()
    signature = types.int64(types.CPointer(types.int64))
    compiled_handler = CFunc(handler, ((types.CPointer(types.int64),), types.int64), {}, {"error_model": "numpy"})
    compiled_handler._cache = _SourcesCache(handler, digest)
    compiled_handler.compile()
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(compiled_handler.ctypes), platform="cpu")
    _KEPT[name] = (compiled_handler, signature)
    return name


_KEPT: dict[str, Any] = {}  # the machine code lives as long as these
