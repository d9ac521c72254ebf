"""Tables under arbitrary input: rubbish gives a Table or a FileFormatError, and what is written reads back."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from myograd.errors import FileFormatError
from myograd.files.tables.formats import read_table, write_table
from myograd.files.tables.table import Table, TableWarning

SEEDS = {
    ".sto": b"walk\nversion=3\nnRows=3\nnColumns=3\ninDegrees=yes\nDataType=double\nendheader\n"
    b"time\thip flexion\tpelvis_tx\n0.0\t1.5\t-2e-3\n0.5\t\tnan\n1.0\t2.5\t-3\n",
    ".mot": b"name walk\ndatacolumns 2\ndatarows 3\nrange 0.0 1.0\nendheader\nhip knee\n 1.5 -2\n 2.5 -3\n 3.5 -4\n",
    ".trc": b"PathFileType\t4\t(X/Y/Z)\twalk.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\t"
    b"OrigDataStartFrame\tOrigNumFrames\n60.00\t60.00\t2\t2\tmm\t60.00\t1\t2\nFrame#\tTime\tR.ASIS\t\t\tL ASIS\t\t\n"
    b"\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n1\t0.0\t1\t2\t3\t\t\t\n2\t0.5\t7\t8\t9\t10\t-nan(ind)\t12\n",
    ".STO": b"DataType=Vec3\nUnits=m\nendheader\ntime\timu 1\timu 2\n0\t1,2,3\t4,5,6\n1\t\t1e3,-2,nan\n",
}
PIECES = st.sampled_from(
    [b"\t", b"\n", b"\r", b" ", b",", b"=", b"-", b"e", b"nan", b"inf", b"1e999", b"_", b"\xff", b"\xef\xbb\xbf", b"\0"]
    + [
        b"endheader\n",
        b"time",
        b"DataType=Quaternion\n",
        b"inDegrees=no\n",
        b"range 0 1\n",
        b"Frame#",
        b"X1",
        b"\xc2\xa0",
    ]
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A valid file after a few cuts, insertions, replacements and copies."""
    suffix = draw(st.sampled_from(sorted(SEEDS)))
    content = SEEDS[suffix]
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        new = draw(st.one_of(PIECES, st.binary(max_size=4), st.just(content[start:end] * 2), st.just(b"")))
        content = content[:start] + new + content[end:]
    return suffix, content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy must not warn either
        warnings.simplefilter("ignore", TableWarning)
        try:
            table = read_table(path)
        except FileFormatError as error:
            assert str(error).startswith(str(path))
        else:
            assert (np.diff(table.time) > 0).all() and table.data.shape[:2] == (len(table), len(table.names))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=300, deadline=None)
@given(damaged())
def test_damaged_files(folder, file):
    suffix, content = file
    read_or_refuse(folder / f"damaged{suffix}", content)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([".sto", ".mot", ".trc"]),
    st.one_of(st.binary(), st.text().map(lambda t: t.encode("utf-8", "replace"))),
)
def test_rubbish(folder, suffix, content):
    read_or_refuse(folder / f"rubbish{suffix}", content)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([".sto", ".mot"]), st.text(), st.text(st.sampled_from("0123456789.eE+-naif_ \t,\n"), max_size=60)
)
def test_rubbish_after_a_good_header(folder, suffix, labels, rows):
    content = f"version=1\nendheader\ntime\t{labels}\n{rows}"
    read_or_refuse(folder / f"rows{suffix}", content.encode("utf-8", "replace"))


NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1, max_size=12
).filter(lambda name: name == name.strip(" ") and name != "time")


@st.composite
def tables(draw: st.DrawFn, vectors: bool | None = None) -> Table:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    time = sorted(draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, max_size=5)))
    shape = (len(time), len(names))
    if vectors or (vectors is None and draw(st.booleans())):
        shape += (3 if vectors else draw(st.integers(2, 12)),)
    data = draw(arrays(np.float64, shape, elements=st.floats(allow_subnormal=True)))
    units = draw(st.sampled_from(["mm", "m", "cm"] if vectors else ["", "mm", "m"]))
    metadata = {
        "header": draw(st.sampled_from(["walk", "two\nlines"])),
        "subject": draw(st.sampled_from(["a b", "x=1", "é"])),
    }
    return Table(
        np.array(time), data, tuple(names), draw(st.booleans()) and not vectors, units, {} if vectors else metadata
    )


def written_and_read(table: Table, path: Path) -> Table:
    write_table(table, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_table(path)


def bits(numbers: np.ndarray) -> np.ndarray:
    """The bits of numbers, with one NaN for all: text has only one."""
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)


def assert_same(a: Table, b: Table) -> None:
    assert (a.names, a.in_degrees, a.units) == (b.names, b.in_degrees, b.units)
    np.testing.assert_array_equal(bits(a.time), bits(b.time), strict=True)
    np.testing.assert_array_equal(bits(a.data), bits(b.data), strict=True)


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from([".sto", ".mot"]))
def test_sto_reads_back_to_the_bit(folder, table, suffix):
    again = written_and_read(table, folder / f"again{suffix}")
    assert_same(again, table)
    assert table.metadata.items() <= again.metadata.items()


@settings(max_examples=100, deadline=None)
@given(tables(vectors=True))
def test_trc_reads_back_to_the_bit(folder, table):
    assert_same(written_and_read(table, folder / "again.trc"), table)
