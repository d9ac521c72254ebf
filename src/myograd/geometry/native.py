"""Functions compiled by Numba as parts of XLA programs, by XLA's foreign function interface (xla/ffi/api/c_api.h, version 0.3).

A handler is a C function of one argument, the address of a call frame: a row of 8-byte words that holds, among others, the
addresses of the arguments and results. It returns 0. See `path.search` for one.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from llvmlite import ir
from numba import carray, njit, types  # pyright: ignore[reportPrivateImportUsage]
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from .wrap.search.vectors import OPTIONS

_VERSION = 3 << 32  # of the interface: major 0, minor 3
_METADATA = 1  # type of the extension by which XLA asks for it
_ARGUMENTS, _RESULTS = 9, 14  # words of the frame
_DATA, _RANK, _DIMENSIONS = 3, 4, 5  # words of a buffer
compiled = njit(**OPTIONS)


def _typed_pointer(typing_context: Any, address: Any, to: Any) -> Any:
    """An address as pointer to elements of the type `to`."""
    kind = types.CPointer(to.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.PointerType(context.get_data_type(to.dtype)))

    return kind(types.int64, to), generate


_pointer: Any = intrinsic(_typed_pointer)


@compiled
def words(address: int, count: int) -> np.ndarray:
    return carray(_pointer(address, np.int64), count)


@compiled
def floats(address: int, count: int) -> np.ndarray:
    return carray(_pointer(address, np.float64), count)


@compiled
def flags(address: int, count: int) -> np.ndarray:
    return carray(_pointer(address, np.uint8), count)


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
    """Compiled code on disk, kept as long as none of its sources changes. Numba's own cache checks one file only."""

    def __init__(self, function: Callable[..., Any], digest: str):
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=digest
        )


class _Linked(JITCodeLibrary):
    """Code that only other compiled code calls: optimised and made into machine code as a part of it.

    Numba does both for each function with all that it calls, again for every caller. That took half of the time."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


@contextlib.contextmanager
def _linked_but(name: str) -> Iterator[None]:
    """Within, Numba makes machine code of the function of this name only, and of what is called as a part of that."""
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()  # pyright: ignore[reportAttributeAccessIssue]
        create, set_env = codegen.create_library, codegen.set_env

        def created(of: str, **options: Any) -> JITCodeLibrary:
            return create(of, **options) if of == name else _Linked(codegen, of, **options)

        # Environments hold Python's objects, which this code has none of; they live in machine code.
        codegen.create_library, codegen.set_env = created, lambda *_: None
        try:
            yield
        finally:
            codegen.create_library, codegen.set_env = create, set_env


class _Handler(CFunc):
    """A C function that says when it is compiled, for that takes a while."""

    def _compile_uncached(self) -> Any:
        logging.getLogger("myograd").warning(
            "compiling the search for muscle paths over surfaces; this takes up to half a minute, once per machine"
        )
        with _linked_but(self._pyfunc.__qualname__):  # pyright: ignore[reportAttributeAccessIssue]
            return super()._compile_uncached()  # pyright: ignore[reportAttributeAccessIssue]


def digest_of(sources: Iterable[Path]) -> str:
    """Of files' names and contents; taken when they are imported, so that it is that of the code in use."""
    digests = [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(sources)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def registered(name: str, handler: Callable[..., Any], digest: str) -> str:
    """`name`, under which XLA programs may from now on call the handler; `digest`: of the sources that it is made of."""
    with _LOCK:
        if name not in _KEPT:
            signature = (types.CPointer(types.int64),), types.int64
            code = _Handler(handler, signature, {}, {"error_model": "numpy"})
            # Where no folder can be written, each process compiles for itself.
            with contextlib.suppress(RuntimeError):
                code._cache = _SourcesCache(handler, digest)  # pyright: ignore[reportAttributeAccessIssue]
            code.compile()
            if not code.address:
                raise RuntimeError(
                    f"Numba {version('numba')} names what it compiles otherwise than Myograd expects; "
                    "install another version from 0.61 to 0.68"
                )
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(code.ctypes), platform="cpu")
            _KEPT[name] = code
    return name


_LOCK = threading.Lock()
_KEPT: dict[str, _Handler] = {}  # the machine code lives as long as these
