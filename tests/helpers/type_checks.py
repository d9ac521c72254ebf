"""How types and shapes are checked while the tests run: an integer is a float, as Python's own typing has it."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

checker = beartype(conf=BeartypeConf(is_pep484_tower=True))
