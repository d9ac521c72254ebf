"""Every public name is on exactly one of the API pages, where it is found at its home, with a text of its own."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import myograd
from docs_hooks import DIRECTIVE, on_page_markdown

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs" / "api").glob("*.md")),
    *(ROOT / "docs" / f"{name}.md" for name in ("parameters", "terms")),
]
LISTED = Counter(name for page in PAGES for name in DIRECTIVE.findall(page.read_text()))


def test_every_public_name_is_on_one_page():
    assert set(myograd.__all__) - set(LISTED) == set()
    assert set(LISTED) - set(myograd.__all__) == set()
    assert [name for name, count in LISTED.items() if count > 1] == []


def test_every_directive_is_a_public_name():
    directives = sum(len(re.findall(r"^:::", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert directives == sum(LISTED.values())


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert all(str(page.relative_to(ROOT / "docs")) in navigation for page in PAGES)


@pytest.mark.parametrize("name", myograd.__all__)
def test_public_names_are_defined_and_explained_at_their_homes(name: str):
    """As mkdocstrings sees it, which reads the sources without running them."""
    home = Path(myograd.__file__).parent / myograd._HOME[name].replace(".", "/")
    source = home.with_suffix(".py") if home.with_suffix(".py").exists() else home / "__init__.py"
    defined = {
        getattr(node, "name", "") or getattr(alias, "asname", None) or getattr(alias, "name", "")
        for node in ast.parse(source.read_text()).body
        for alias in getattr(node, "names", [None])
    }
    constants = {
        ast.unparse(node.targets[0]): after.value.value
        for node, after in pairwise(ast.parse(source.read_text()).body)
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }
    if name in constants:
        assert constants[name]  # its text stands below it
        return
    assert name in defined
    text = inspect.getdoc(getattr(myograd, name)) or ""
    assert text and not text.startswith(f"{name}(")  # which is what a dataclass says by itself


def test_names_become_their_homes():
    text = on_page_markdown("before\n\n::: myograd.mass_matrix\n\nafter")
    assert "::: myograd.dynamics.energy.mass_matrix" in text
    assert "heading: myograd.mass_matrix" in text
    assert "[](){#myograd.mass_matrix}" in text
    with pytest.raises(KeyError, match="no public name 'mass_matrices'"):
        on_page_markdown("::: myograd.mass_matrices")
