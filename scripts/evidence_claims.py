"""The claims of the evidence page as data: rows, their figures, and how a number is read from a JSON file."""

from __future__ import annotations

import ast
import math
import operator
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class EvidenceError(Exception):
    """The claims cannot be read, or do not fit what was measured."""


@dataclass(frozen=True)
class Figure:
    """One number, and how it is read from what the command left; exactly one of `recorded`, `file` and `printed`."""

    label: str = ""
    unit: str = ""
    recorded: str = ""
    """name under which tests kept it, by the fixture `measured`"""
    file: str = ""
    """JSON file that the command writes, ..."""
    of: Sequence[Any] = ()
    """... the way to it: keys, `{name = value}` to choose from a list, "*" for all of a list or table ..."""
    value: str = ""
    """... and a formula of what is there; nothing if the number itself is there"""
    printed: str = ""
    """regular expression with one group"""
    take: str = "max"
    """of several"""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def name(self) -> str:
        return self.label or self.recorded

    def is_met(self, value: float) -> bool:
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)

    def text(self, value: float) -> str:
        bars = [f"{sign} {bar:g}" for sign, bar in (("≤", self.at_most), ("≥", self.at_least)) if bar is not None]
        number = f"{value:.2g}" if abs(value) < 0.01 else f"{value:.4g}"
        return (
            f"{self.name}: " * bool(self.name) + f"{number} {self.unit}".strip() + f" ({', '.join(bars)})" * bool(bars)
        )


@dataclass(frozen=True)
class Row:
    """One claim."""

    topic: str
    name: str
    claim: str
    command: str
    tests: Sequence[str] = ()
    """of a pytest command: parts of the names of the tests that show it; all if none"""
    figures: tuple[Figure, ...] = ()
    slow: bool = False
    """a benchmark or a study: not run with --fast"""
    exit_codes: Sequence[int] = (0,)
    """with which the command may end (pytest's are known)"""
    by_exit: bool = False
    """that the command ends well is the claim"""
    note: str = ""
    """shown always"""
    reason: str = ""
    """shown where it is not met"""

    @property
    def id(self) -> str:
        return f"{self.topic}/{self.name}"

    @property
    def is_pytest(self) -> bool:
        return self.command.startswith("pytest ")

    @property
    def test_paths(self) -> list[str]:
        """Files and folders that a pytest command runs."""
        return [word for word in shlex.split(self.command) if word.startswith("tests/")]

    @property
    def shown_command(self) -> str:
        return self.command + (f' -k "{" or ".join(self.tests)}"' if self.tests else "")


# Claims ------------------------------------------------------------------------------------------------------


def read_claims(path: Path) -> tuple[dict[str, dict[str, str]], list[Row]]:
    """Topics, `{name: {title, intro}}`, and all rows."""
    topics, rows = {}, []
    for topic in tomllib.loads(path.read_text())["topic"]:
        topics[topic["name"]] = {"title": topic["title"], "intro": topic.get("intro", "")}
        for entry in topic["row"]:
            where = f"{topic['name']}/{entry.get('name', '?')}"
            try:
                figures = tuple(Figure(**one) for one in entry.pop("figures", []))
                rows.append(Row(topic["name"], figures=figures, **entry))
            except TypeError as error:
                raise EvidenceError(f"{path.name}: {where}: {error}") from error
            if any(sum(map(bool, (one.recorded, one.file, one.printed))) != 1 for one in figures):
                raise EvidenceError(f"{path.name}: {where}: a figure is either recorded, or in a file, or printed")
    twice = {row.id for row in rows if [other.id for other in rows].count(row.id) > 1}
    if twice:
        raise EvidenceError(f"{path.name}: several rows are named {', '.join(sorted(twice))}")
    return topics, rows


def chosen(rows: Sequence[Row], only: Sequence[str], fast: bool) -> list[Row]:
    """The rows that are asked for."""
    for name in only:
        if name not in {row.id for row in rows} | {row.topic for row in rows}:
            raise EvidenceError(f"there is no topic or row {name!r}; rows are TOPIC/ROW, as in {rows[0].id}")
    return [row for row in rows if (not only or {row.id, row.topic} & set(only)) and not (fast and row.slow)]


# Numbers in JSON files ---------------------------------------------------------------------------------------


def found(data: Any, way: Sequence[Any]) -> Iterator[Any]:
    """What is at the end of a way through lists and tables."""
    if not way:
        yield data
        return
    key, *rest = way
    if isinstance(key, dict):
        there = [item for item in data if all(item.get(name) == value for name, value in key.items())]
        if not there:
            raise KeyError(f"nothing with {key}")
    elif key == "*":
        there = list(data.values()) if isinstance(data, dict) else data
        if rest and isinstance(rest[0], str) and rest[0] != "*":
            there = [item for item in there if rest[0] in item]
    else:
        there = [data[key]]
    for item in there:
        yield from found(item, rest)


OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Div: operator.truediv,
    ast.Mult: operator.mul,
    ast.Sub: operator.sub,
    ast.Add: operator.add,
}


def formula(text: str, data: Any) -> float:
    """`opensim.median / min(batch.median, stream.median)` or `groups['own M1'].seconds` of the numbers in a table."""

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body):
                return value(body)
            case ast.Constant(number):
                return number
            case ast.Name(name):
                return data[name]
            case ast.Attribute(inner, name):
                return value(inner)[name]
            case ast.Subscript(inner, ast.Constant(key)):
                return value(inner)[key]
            case ast.BinOp(left, sign, right):
                return OPERATORS[type(sign)](value(left), value(right))
            case ast.Call(ast.Name("min" | "max" as which), arguments):
                numbers = [x for x in map(value, arguments) if x is not None and not math.isnan(x)]
                return {"min": min, "max": max}[which](numbers)
        raise ValueError(f"{text!r} is not a formula of numbers, names, + - * / and min, max")

    return float(value(ast.parse(text, mode="eval")))
