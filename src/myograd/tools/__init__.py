"""Whole tools, from recordings to results, as functions that print nothing: `mg.tools.identify(...)`. The command line is a thin
layer over them."""

from __future__ import annotations

from .analysis import Analysis as Analysis
from .analysis import analyze as analyze
from .identification import Identification as Identification
from .identification import identify as identify
from .result import Result as Result
from .simulation import Simulation as Simulation
from .simulation import simulate as simulate
