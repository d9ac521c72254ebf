"""Tables: files as OpenSim, Vicon, Mokka, Excel and people make them; and the errors for those nobody should make."""

from __future__ import annotations

import os
import re
import stat
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from myograd.errors import FileFormatError, MyogradError
from myograd.files.atomic import write_text
from myograd.files.tables.formats import read_table, write_table
from myograd.files.tables.table import Table, TableWarning

ROWS = "0.0\t1.5\t-2\n0.5\t2.5\t-3\n"
STO = "walk\nversion=1\nnRows=2\nnColumns=3\ninDegrees=yes\nendheader\ntime\thip\tpelvis_tx\n" + ROWS
KEYS = "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
TRC_HEADER = "PathFileType\t4\t(X/Y/Z)\twalk.trc\n" + KEYS + "2.0\t2.0\t2\t2\tmm\t2.0\t1\t2\n"
TRC_LABELS = "Frame#\tTime\tR.ASIS\t\t\tL.ASIS\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
TRC_ROWS = "1\t0.0\t1\t2\t3\t4\t5\t6\n2\t0.5\t7\t8\t9\t10\t11\t12\n"
TRC = TRC_HEADER + TRC_LABELS + "\n" + TRC_ROWS


@pytest.fixture
def read(tmp_path):
    def read(text: str | bytes, suffix: str = ".sto") -> Table:
        path = tmp_path / f"table{suffix}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_table(path)

    return read


def same(a: Table, b: Table) -> None:
    assert a.names == b.names
    np.testing.assert_array_equal(a.time, b.time, strict=True)
    np.testing.assert_array_equal(a.data, b.data, strict=True)
    assert (a.in_degrees, a.units) == (b.in_degrees, b.units)


# What a file says


def test_sto_says_names_numbers_and_degrees(read):
    table = read(STO)
    assert table.names == ("hip", "pelvis_tx")
    np.testing.assert_array_equal(table.time, [0, 0.5])
    np.testing.assert_array_equal(table.data, [[1.5, -2], [2.5, -3]])
    assert table.in_degrees
    assert list(table.metadata.items())[:2] == [("header", "walk"), ("version", "1")]


def test_trc_gives_positions_in_metres_and_keeps_its_numbers(read):
    table = read(TRC, ".trc")
    assert table.names == ("R.ASIS", "L.ASIS")
    np.testing.assert_array_equal(table.data[1], [[7, 8, 9], [10, 11, 12]])
    np.testing.assert_array_equal(table["L.ASIS"], [[4, 5, 6], [10, 11, 12]])
    np.testing.assert_array_equal(table.positions[1], [[0.007, 0.008, 0.009], [0.010, 0.011, 0.012]])
    assert table.metadata["DataRate"] == "2.0"


@pytest.mark.parametrize(("units", "x"), [("m", 1), ("CM", 0.01), ("Millimeters", 0.001)])
def test_trc_units(read, units, x):
    assert read(TRC.replace("mm", units), ".trc").positions[0, 0, 0] == x


# Lenient where real files are


STO_VARIANTS = {
    "crlf": STO.replace("\n", "\r\n"),
    "cr": STO.replace("\n", "\r"),
    "bom": "\ufeff" + STO,
    "trailing-tabs": STO.replace("\n", "\t\t\n"),
    "blank-lines": STO + "\n\t\n\n",
    "no-last-newline": STO.rstrip("\n"),
    "spaces": STO.replace("\t", "   "),
    "padded": STO.replace("\t", " \t  "),
    "no-counts": STO.replace("nRows=2\nnColumns=3\n", ""),
    "no-version": STO.replace("version=1\n", ""),
    "case": STO.replace("nRows", "NROWS")
    .replace("inDegrees=yes", "INDEGREES = Yes")
    .replace("endheader", " EndHeader "),
    "text": STO.replace("walk\n", "walk\n\nUnits are S.I. units (second, meters, Newtons, ...)\n# x = 1\n\n"),
    "label": STO.replace("time\thip", "\n  Time\t   hip"),
}


@pytest.mark.parametrize("text", STO_VARIANTS.values(), ids=STO_VARIANTS.keys())
def test_sto_variants_say_the_same(read, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(read(text), read(STO))


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("nRows=2", "nRows=901", "nRows = 901, but there are 2"),
        ("nColumns=3", "nColumns=many", "nColumns = many, but there are 3"),
        ("0.5\t2.5\t-3\n", "0.5\t2.5\t-3\n0.5\t9\t9\n", "left out: 1, the first at line 10"),
    ],
)
def test_sto_that_disagrees_with_itself_warns(read, old, new, warning):
    with pytest.warns(TableWarning, match=warning) as record:
        table = read(STO.replace(old, new))
    assert record[0].filename == __file__  # the line that called read_table
    same(table, read(STO))


def test_simm_motion(read):
    head = "name walk\ndatacolumns 3\ndatarows 2\notherdata 1\nrange 0.0 0.5\nendheader\n"
    table = read(head + "time hip pelvis_tx\n" + ROWS.replace("\t", " "), ".mot")
    same(table, read(STO))
    timeless = read(head.replace("3", "2") + "hip\tpelvis_tx\n" + re.sub(r"(?m)^0..\t", "", ROWS), ".mot")
    same(timeless, table)
    assert not read(head + "time hip pelvis_tx\n" + ROWS, ".sto").in_degrees


@pytest.mark.parametrize(
    ("head", "suffix", "in_degrees"),
    [
        ("inDegrees=yes", ".sto", True),
        ("version=1\ninDegrees=n", ".mot", False),
        ("version=3", ".mot", False),
        ("walk", ".mot", True),
        ("Angles are in radians.", ".mot", False),
        ("Angles are in degrees.", ".sto", True),
        ("version=1\nAngles are in degrees.", ".sto", False),
    ],
)
def test_degrees_are_understood_as_opensim_does(read, head, suffix, in_degrees):
    assert read(f"{head}\nendheader\ntime\thip\n0\t1\n", suffix).in_degrees is in_degrees


def test_names_are_kept_exactly(read):
    names = (
        "/jointset/hip/hip_flexion/value",
        "gluteus maximus 1",
        "1_ground_force_vx",
        "Fuß_α",
        "*60",
        "A:RASI",
        "a,b",
    )
    table = read("x\nendheader\n" + "\t".join(("time", *names)) + "\n0" + "\t1" * len(names) + "\n")
    assert table.names == names
    assert read("x\nendheader\ntime\tFuß\n0\t1\n".encode("latin-1")).names == ("Fuß",)


def test_what_is_not_a_number_is_nan(read):
    cells = ["", "  ", "nan", "NaN", "-nan(ind)", "nan(snan)", "1.#QNAN", "-1.#IND00", "NAN"]
    names = "\t".join(f"c{i}" for i in range(len(cells)))
    table = read(
        f"x\nendheader\ntime\t{names}\tend\n0\t" + "\t".join(cells) + "\t1e-3\n1" + "\t2" * len(cells) + "\t\n"
    )
    np.testing.assert_array_equal(table.data[0], [np.nan] * len(cells) + [1e-3])
    np.testing.assert_array_equal(table.data[1], [2] * len(cells) + [np.nan])


def test_a_repeated_column_name_is_an_error_where_it_is_asked_for(read):
    with pytest.warns(TableWarning, match="share a name.*'hip'"):
        table = read(STO.replace("pelvis_tx", "hip"))
    np.testing.assert_array_equal(table.data[0], [1.5, -2])
    with pytest.raises(MyogradError, match=r"columns \[0, 1\] are all named 'hip'"):
        table["hip"]


@pytest.mark.parametrize(("kind", "k"), [("Vec3", 3), ("Quaternion", 4), ("SpatialVec", 6), ("vec2", 2)])
def test_vectors_in_cells(read, kind, k):
    cell = ",".join(map(str, range(k)))
    table = read(f"DataType={kind}\nendheader\ntime\timu 1\timu 2\n0\t{cell}\t\n1\t{cell}\t{cell}\n")
    assert table.names == ("imu 1", "imu 2")
    np.testing.assert_array_equal(table.data[1], [np.arange(k)] * 2)
    assert np.isnan(table["imu 2"][0]).all()


TRC_VARIANTS = {
    "crlf": TRC.replace("\n", "\r\n"),
    "bom": "\ufeff" + TRC,
    "trailing-tabs": TRC.replace("\n", "\t\t\t\n"),
    "no-blank-line": TRC_HEADER + TRC_LABELS + TRC_ROWS,
    "blank-lines": TRC_HEADER + TRC_LABELS + "\n\t\n\n" + TRC_ROWS + "\n\n",
    "numbering": TRC.replace("X1\tY1\tZ1\tX2\tY2\tZ2", "X5\tY5\tZ5\tX6\tY6\tZ6"),
    "no-axes": TRC.replace("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n", ""),
    "single-tabs": TRC.replace("R.ASIS\t\t\tL.ASIS\t\t", "R.ASIS\tL.ASIS"),
    "spaces": re.sub(r"\t+", "  ", TRC),
    "mixed": TRC.replace("\t1\t2\t3\t", "\t1 2 3\t"),
    "frames-restart": TRC.replace("\n2\t0.5", "\n1\t0.5"),
    "glued-keys": TRC.replace("\tOrigNumFrames", " OrigNumFrames"),
    "five-keys": re.sub("\tOrigDataRate.*", "", TRC).replace("mm\t2.0\t1\t2", "mm").replace("Type\t4", "Type\t3"),
    "padded": TRC.replace("2.0\t2.0\t2\t2\tmm", "  2.0\t 2.0\t     2\t 2\tmm"),
    "labels": TRC.replace("Frame#\tTime", "frame #\tTime (s)"),
}


@pytest.mark.parametrize("text", TRC_VARIANTS.values(), ids=TRC_VARIANTS.keys())
def test_trc_variants_say_the_same(read, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(read(text, ".trc"), read(TRC, ".trc"))


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("2.0\t2.0\t2\t2", "2.0\t2.0\t900\t2", "NumFrames = 900, but there are 2"),
        ("2.0\t2.0\t2\t2", "2.0\t2.0\t2\t7", "NumMarkers = 7, but there are 2"),
        ("OrigDataRate\t", "OrigDataRate", "8 header values for 7 keys"),
        ("\t3\t4\t5\t6\n", "\t3\t4\t5\t6\t77\t88\t99\n", "without a marker name are left out"),
    ],
)
def test_trc_that_disagrees_with_itself_warns(read, old, new, warning):
    with pytest.warns(TableWarning, match=warning):
        table = read(TRC.replace(old, new), ".trc")
    same(table, read(TRC, ".trc"))


def test_trc_with_missing_markers_and_columns_without_a_name(read):
    text = TRC.replace("R.ASIS", "").replace("\t4\t5\t6\n", "\t\t\t\n").replace("L.ASIS", "L ASIS")
    with pytest.warns(TableWarning, match="without a marker name"):
        table = read(text, ".trc")
    assert table.names == ("L ASIS",)
    np.testing.assert_array_equal(table.data[:, 0], [[np.nan] * 3, [10, 11, 12]])


# Exact errors elsewhere


ERRORS = [
    ("", ".sto", "the file is empty"),
    (" \n\t\n", ".trc", "the file is empty"),
    (b"\x00\x01\x02", ".mot", "not a text file"),
    (STO.encode("utf-16"), ".sto", "UTF-16"),
    (bytes(range(256)), ".trc", "not a text file"),
    (STO.replace("endheader", "end header"), ".sto", "no line 'endheader'"),
    (STO.split("time")[0], ".sto", ":6: nothing follows 'endheader'"),
    (STO.replace("time\t", "t\t"), ".sto", ":7: expected the first column 'time', found 't'"),
    (STO.replace("\t-3", ""), ".sto", ":9: row 2 has 2 cells, expected 3: no cell for column 'pelvis_tx'"),
    (STO.replace("-3", "-3\t4"), ".sto", ":9: a row has more cells than the 3 columns"),
    (STO.replace("2.5", "2,5"), ".sto", ":9: column 'hip', row 2: expected a number, found '2,5'"),
    (STO.replace("2.5", "2_5"), ".sto", ":9: column 'hip', row 2: expected a number, found '2_5'"),
    (STO.replace("2.5", "٢"), ".sto", ":9: column 'hip', row 2: expected a number"),
    (STO.replace("2.5", "0x2"), ".sto", ":9: column 'hip', row 2: expected a number"),
    (STO.replace("0.5\t", "-0.5\t"), ".sto", ":9: time must increase: row 2 has -0.5 s after 0.0 s"),
    (STO.replace("0.5\t", "nan\t"), ".sto", ":9: row 2 has no time"),
    (STO.replace("0.5\t", "\t"), ".sto", ":9: row 2 has no time"),
    (STO.replace("=yes", "=maybe"), ".sto", ":5: inDegrees=maybe: expected yes or no"),
    ("DataType=Vec33\n" + STO, ".sto", ":1: DataType=Vec33 is unknown; did you mean 'Vec3'?"),
    ("DataType=Vec3\n" + STO, ".sto", ":9: column 'hip', row 1: expected 3 numbers separated by commas, found '1.5'"),
    ("range 0\nendheader\nhip\n1\n", ".mot", "range 0: expected two numbers"),
    ("range 0 inf\nendheader\nhip\n1\n2\n", ".mot", "has no time"),
    (STO, ".trc", ":1: expected 'PathFileType', found 'walk'"),
    (TRC_HEADER, ".trc", ":3: ends after 3 lines"),
    (TRC.replace("mm\t", "furlong\t"), ".trc", ":3: Units 'furlong': expected m, cm or mm"),
    (TRC.replace("2.0\t2.0\t2\t2\tmm\t2.0\t1\t2", "2.0"), ".trc", ":3: 1 header values for the 8 keys above"),
    (TRC.replace("Time\t", "\t"), ".trc", ":4: expected the labels Frame# and Time"),
    (TRC.replace("L.ASIS", "R.ASIS"), ".trc", ":4: each marker needs its own name; more than once: 'R.ASIS'"),
    (TRC.replace("Y1\tZ1", "Z1\tY1"), ".trc", ":5: expected the axes X, Y, Z .* found 'Z1' for Y"),
    (TRC.replace("\t10\t11\t12", ""), ".trc", ":8: row 2 has 5 cells, expected 8: no cell for column 'L.ASIS X'"),
    (TRC.replace("11", "eleven"), ".trc", ":8: column 'L.ASIS Y', row 2: expected a number, found 'eleven'"),
    (TRC.replace("0.5", ""), ".trc", ":8: row 2 has no time"),
]


@pytest.mark.parametrize(("text", "suffix", "message"), ERRORS, ids=[message for _, _, message in ERRORS])
def test_errors_say_where_and_what(read, text, suffix, message):
    with pytest.raises(FileFormatError, match=message):
        read(text, suffix)


def test_unknown_suffix_and_missing_file(tmp_path):
    with pytest.raises(
        MyogradError,
        match=r"\.csv is not a table format, but that of a comma-separated file; expected \.sto, \.mot, \.trc",
    ):
        read_table("walk.csv")
    with pytest.raises(FileFormatError, match=r"walk\.sto: cannot be read: No such file"):
        read_table(tmp_path / "walk.sto")


# The table in numpy and pandas


def test_columns_by_name(read):
    table = read(STO)
    np.testing.assert_array_equal(table.columns(["pelvis_tx", "hip"]), [[-2, 1.5], [-3, 2.5]])
    assert "hip" in table and "knee" not in table and len(table) == 2
    with pytest.raises(MyogradError, match=r"no column 'pelvis_ty'; did you mean 'pelvis_tx'\?"):
        table.columns(["hip", "pelvis_ty"])


def test_only_named_angles_are_converted(read):
    table = read(STO)
    radians = table.to_radians(["hip"])
    np.testing.assert_allclose(radians["hip"], np.array([1.5, 2.5]) * np.pi / 180, rtol=1e-15)
    np.testing.assert_array_equal(radians["pelvis_tx"], table["pelvis_tx"])
    assert not radians.in_degrees and table.in_degrees and radians.to_radians(["hip"]) is radians
    np.testing.assert_allclose(radians.to_degrees(["hip"]).data, table.data, rtol=1e-15)
    with pytest.raises(MyogradError, match="did you mean 'hip'"):
        radians.to_radians(["hips"])


@pytest.mark.parametrize(("text", "suffix"), [(STO, ".sto"), (TRC, ".trc")])
def test_pandas_and_back(read, text, suffix):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = read(text, suffix)
    frame = table.to_pandas()
    assert frame.index.name == "time"
    same(Table.from_pandas(frame), table)
    if suffix == ".trc":
        assert frame[("L.ASIS", "y")].tolist() == [5, 11]
    else:
        same(Table.from_pandas(frame.reset_index()), table)
        assert frame["hip"].tolist() == [1.5, 2.5]
    with pytest.raises(MyogradError, match="no time"):
        Table.from_pandas(pandas.DataFrame({"hip": [1.0]}))


@pytest.mark.parametrize(
    ("time", "data", "message"),
    [
        ([0, 1], [[1.0]], "do not make a table"),
        ([0, 1], [1.0, 2.0], "do not make a table"),
        ([0, 0], [[1.0], [2.0]], "time must increase: row 1"),
        ([0, np.inf], [[1.0], [2.0]], "time is not finite at row 1"),
    ],
)
def test_what_is_no_table(time, data, message):
    with pytest.raises(MyogradError, match=message):
        Table(np.array(time), np.array(data), ("hip",))


def test_positions_need_units_and_markers(read):
    with pytest.raises(MyogradError, match="does not say its units"):
        _ = replace(read(TRC, ".trc"), units="").positions
    with pytest.raises(MyogradError, match="holds no positions"):
        _ = read(STO).positions


# Writing


def test_written_header_follows_the_table(read, tmp_path):
    table = read("01 02\nname=walk\nnRows=2\nrange 5 6\nsubject=a b\nendheader\n" + STO.split("endheader\n")[1], ".mot")
    write_table(table, tmp_path / "out.mot")
    lines = (tmp_path / "out.mot").read_text().splitlines()
    assert lines[:3] == ["# 01 02", "name=walk", "subject=a b"]
    assert lines[3:8] == ["version=3", "nRows=2", "nColumns=3", "inDegrees=yes", "DataType=double"]
    assert lines[8:] == ["endheader", "time\thip\tpelvis_tx", "0.0\t1.5\t-2.0", "0.5\t2.5\t-3.0"]


def test_trc_rate_is_that_of_the_rows(read, tmp_path):
    table = read(TRC, ".trc")
    for time, rate in (table.time * 1.001, "2.0"), (table.time / 10, "20"):
        write_table(replace(table, time=time), tmp_path / "out.trc")
        assert read_table(tmp_path / "out.trc").metadata["DataRate"] == rate


@pytest.mark.parametrize("name", ["", " hip", "hip ", "a\tb", "a\nb", "a\rb", "a\0b", "\ud800"])
@pytest.mark.parametrize("suffix", [".sto", ".trc"])
def test_names_that_would_not_read_back_are_refused(tmp_path, name, suffix):
    path = tmp_path / f"out{suffix}"
    with pytest.raises(MyogradError, match="cannot be written"):
        write_table(Table(np.zeros(1), np.zeros((1, 1, 3)), (name,), units="m"), path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        ({"names": ("time",)}, "out.sto", "named 'time'"),
        ({"metadata": {"a b": "1"}}, "out.sto", "is not one line"),
        ({"metadata": {"a": "1\nendheader"}}, "out.sto", "is not one line"),
        ({"metadata": {"header": "walk\nEndheader"}}, "out.sto", "header has the line"),
        ({"metadata": {"CameraRate": "6 0"}}, "out.trc", "is not one word"),
        ({"units": ""}, "out.trc", "needs units m, cm or mm"),
        ({"data": np.zeros((1, 1))}, "out.trc", "holds markers"),
        ({"data": np.zeros((1, 1, 13))}, "out.sto", "at most 12"),
        ({}, "no/such/folder/out.sto", "cannot be written: No such file"),
        ({}, "out.csv", "not a table format"),
    ],
)
def test_what_cannot_be_written(tmp_path, change, name, message):
    table = replace(Table(np.zeros(1), np.zeros((1, 1, 3)), ("hip",), units="mm"), **change)
    with pytest.raises(MyogradError, match=message):
        write_table(table, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def pieces():
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_text(path, pieces())
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_writing_keeps_permissions_and_links(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    write_text(target, "one")
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, ["two", "\n"])
    assert target.read_bytes() == b"two\n" and link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o640


# OpenSim reads what we write, and we read what it reads


def opensim_numbers(opensim, path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, time [n] and data [n, columns * k] as OpenSim reads them."""
    said = re.search("DataType=(.*)", path.read_text())
    kind = "Vec3" if path.suffix == ".trc" else said[1].replace("double", "") if said else ""
    table = getattr(opensim, "TimeSeriesTable" + kind)(str(path))
    flat = table.flatten() if kind else table
    return list(table.getColumnLabels()), np.array(table.getIndependentColumn()), flat.getMatrix().to_numpy()


NASTY = np.array([0.1, 1 / 3, -0.0, np.nan, 1e300, -1e-300, 123456789.123456789, 2**53 + 1.0])
NAMES = ("/jointset/hip/hip_flexion/value", "gluteus maximus")


@pytest.mark.parametrize(
    ("name", "k"), [("01.sto", 1), ("out.mot", 1), ("out.sto", 3), ("quaternion.sto", 4), ("out.trc", 3)]
)
def test_opensim_reads_what_we_write(opensim, tmp_path, name, k):
    data = np.resize(NASTY, (5, 2, k))
    metadata = {"header": "2024-01-02"}
    if k == 4:
        metadata["DataType"] = "Quaternion"
        data = np.tile([0.5, 0.5, -0.5, 0.5], (5, 2, 1))  # OpenSim scales quaternions to length 1
    table = Table(np.arange(5) / 3, data[..., 0] if k == 1 else data, NAMES, k == 1, "mm" if k == 3 else "", metadata)
    write_table(table, tmp_path / name)
    names, time, numbers = opensim_numbers(opensim, tmp_path / name)
    assert tuple(names) == NAMES
    np.testing.assert_array_equal(time, table.time)
    np.testing.assert_array_equal(numbers, table.flat)


@pytest.mark.parametrize("suffix", [".sto", ".mot"])
@pytest.mark.parametrize("in_degrees", [True, False])
def test_opensim_storage_reads_what_we_write(opensim, tmp_path, suffix, in_degrees):
    """The older reader, which most of OpenSim's tools use."""
    path = tmp_path / f"out{suffix}"
    table = Table(np.arange(4) / 7, NASTY.reshape(4, 2), ("hip", "pelvis_tx"), in_degrees)
    write_table(table, path)
    storage = opensim.Storage(str(path))
    assert storage.isInDegrees() is in_degrees
    for i, name in enumerate(table.names):
        column = opensim.ArrayDouble()
        storage.getDataColumn(name, column)
        np.testing.assert_array_equal([column.get(row) for row in range(column.getSize())], table.data[:, i])


def test_opensim_marker_data_reads_what_we_write(opensim, tmp_path):
    """The reader of OpenSim's scaling and inverse kinematics tools: it does not use the reader of tables."""
    data = np.resize([617.24762, np.nan, 0.5, -88.9], (3, 4, 3))
    table = Table(np.arange(3) / 60, data, ("R.ASIS", "L ASIS", "a", "b"), units="mm")
    write_table(table, tmp_path / "out.trc")
    markers = opensim.MarkerData(str(tmp_path / "out.trc"))
    assert (markers.getNumFrames(), markers.getNumMarkers(), markers.getDataRate()) == (3, 4, 60)
    assert markers.getUnits().getLabel() == "millimeters"
    assert [markers.getMarkerNames().get(i) for i in range(4)] == list(table.names)
    frames = [[markers.getFrame(i).getMarker(j).to_numpy() for j in range(4)] for i in range(3)]
    np.testing.assert_array_equal(frames, data)


REAL = [
    "Gait10dof18musc/ExperimentalData/subject01_static.trc",
    "Gait10dof18musc/OutputReference/IK/subject01_walk_IK.mot",
    "Gait10dof18musc/osim46/so_StaticOptimization_force.sto",
    "Gait2392_Simbody/OutputReference/subject01_walk1_ik.mot",  # repeated names, SIMM header
    "Gait2392_Simbody/subject01_walk1_grf.mot",
    "Hamner/subject02_running.trc",
    "Hamner/subject02_running_grf.mot",  # wrong number of rows in its header
    "Hamner/osim46/run_ik_model_marker_locations.sto",
]


def recording(pack: Path, name: str) -> Path:
    path = pack / "pipelines" / name
    if not path.exists():
        pytest.skip(f"the oracle pack has no recording {name}: it is not the public one")
    return path


@pytest.mark.filterwarnings("ignore::myograd.files.tables.table.TableWarning")
@pytest.mark.parametrize("name", REAL)
def test_real_files_say_what_opensim_reads(opensim, pack, name, tmp_path):
    path = recording(pack, name)
    table = read_table(path)
    names, time, numbers = opensim_numbers(opensim, path)
    assert list(table.names) == names
    np.testing.assert_array_equal(table.time, time)
    np.testing.assert_array_equal(table.flat, numbers)
    write_table(table, tmp_path / path.name)
    same(read_table(tmp_path / path.name), table)


def test_rows_that_opensim_wrote_twice_are_left_out(pack):
    path = recording(pack, "Gait10dof18musc/OutputReference/RRA/Results/subject_adjusted_Kinematics_q.sto")
    with pytest.warns(TableWarning, match="left out: 1, the first at line 2548"):
        table = read_table(path)
    assert table.data.shape == (2536, 10)


def test_examples_in_the_docs_run(tmp_path, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    page = (Path(__file__).parents[3] / "docs" / "tables.md").read_text()
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {})
