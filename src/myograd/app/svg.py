"""Just enough SVG to draw a figure that is small, sharp, and readable as text: polylines, words, and a plot frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

import numpy as np


@dataclass
class Drawing:
    """A white page of `width` by `height` pixels, y down."""

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def line(self, points: np.ndarray, color: str, width: float = 1.0, opacity: float = 1.0, dashes: str = "") -> None:
        """A polyline through `points` [n, 2]; `dashes`: lengths of strokes and gaps, "4 3"."""
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f'stroke-dasharray="{dashes}" ' if dashes else ""
        self.parts.append(
            f'<polyline points="{where}" fill="none" stroke="{color}" stroke-width="{width:g}" {dashed}'
            f'stroke-opacity="{opacity:.3g}" stroke-linecap="round" stroke-linejoin="round"/>'
        )

    def words(self, text: str, x: float, y: float, anchor: str = "start", color: str = "#444", size: int = 13) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}">'
            f"{escape(text)}</text>"
        )

    def text(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="sans-serif">\n'
            f'<rect width="{self.width}" height="{self.height}" fill="white"/>\n' + "\n".join(self.parts) + "\n</svg>\n"
        )


@dataclass
class Frame:
    """A rectangle of a drawing (left, top, right, bottom) that shows x and y between limits, with ticks."""

    drawing: Drawing
    box: tuple[float, float, float, float]
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]

    def place(self, x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        """Pixels [..., 2] of points of the plot."""
        left, top, right, bottom = self.box
        across = left + (np.asarray(x) - self.x_limits[0]) / (self.x_limits[1] - self.x_limits[0]) * (right - left)
        down = bottom - (np.asarray(y) - self.y_limits[0]) / (self.y_limits[1] - self.y_limits[0]) * (bottom - top)
        return np.stack(np.broadcast_arrays(across, down), -1)

    def axes(self, x_ticks: Sequence[float], y_ticks: Sequence[float], x_label: str, y_label: str) -> None:
        left, top, right, bottom = self.box
        for tick in x_ticks:
            x, _ = self.place(tick, self.y_limits[0])
            self.drawing.words(f"{tick:g}", x, bottom + 16, "middle", "#777", 11)
        for tick in y_ticks:
            _, y = self.place(self.x_limits[0], tick)
            self.drawing.line(np.array([[left, y], [right, y]]), "#bbb" if tick == 0 else "#eee")
            self.drawing.words(f"{tick:g}", left - 6, y + 4, "end", "#777", 11)
        self.drawing.words(x_label, (left + right) / 2, bottom + 34, "middle")
        self.drawing.words(y_label, left - 30, top - 12)
