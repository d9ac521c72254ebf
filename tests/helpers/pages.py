"""What a page in a browser shows: how many pixels each curve has, which texts cover each other."""

from __future__ import annotations

import base64
import json
from itertools import combinations
from typing import NamedTuple

from browser import Page

ENOUGH = 10  # pixels

# Each element that draws a curve has plotly's data of it; those of curves that are switched off do not exist.
CURVES = """
(() => {
  window.curves = [];
  for (const [number, plot] of [...document.querySelectorAll(".js-plotly-plot")].entries())
    for (const trace of plot._fullData.filter(trace => trace.visible === true)) {
      const own = [...plot.querySelectorAll("g.trace")].filter(g => g.__data__[0].trace.index === trace.index);
      const at = plot.getBoundingClientRect();
      window.curves.push({own, said: {name: `figure ${number + 1}: ${trace.index} ${trace.name}`, clip: {
        x: at.x + scrollX, y: at.y + scrollY, width: at.width, height: at.height}}});
    }
  return window.curves.map(curve => curve.said);
})()
"""
SHOW = """
for (const g of document.querySelectorAll("g.trace")) g.style.visibility = "hidden";
for (const g of window.curves[NUMBER]?.own ?? []) g.style.visibility = "visible";
"""
SHOW_ALL = 'for (const g of document.querySelectorAll("g.trace")) g.style.visibility = "";'
DIFFERENT = """
(async pictures => {
  const [a, b] = await Promise.all(pictures.map(async data => {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height).data;
  }));
  let count = 0;
  for (let i = 0; i < a.length; i += 4) if (a[i] !== b[i] || a[i + 1] !== b[i + 1] || a[i + 2] !== b[i + 2]) count++;
  return count;
})(PICTURES)
"""
TEXTS = """
[...document.querySelectorAll(SELECTOR)].filter(text => text.textContent.trim()).map(text => {
  const at = text.getBoundingClientRect();
  return [text.textContent, at.left, at.top, at.right, at.bottom];
})
"""


class Text(NamedTuple):
    """A text, and the rectangle that it fills [px]."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def pixels(page: Page) -> dict[str, int]:
    """Of each curve that is switched on: how many pixels change when it alone is shown instead of none."""
    curves = page.evaluate(CURVES)
    found, none = {}, {}
    page.evaluate(SHOW.replace("NUMBER", "-1"))
    for clip in {json.dumps(curve["clip"]) for curve in curves}:
        none[clip] = page.screenshot(json.loads(clip))
    for number, curve in enumerate(curves):
        page.evaluate(SHOW.replace("NUMBER", str(number)))
        found[curve["name"]] = different(page, none[json.dumps(curve["clip"])], page.screenshot(curve["clip"]))
    page.evaluate(SHOW_ALL)
    return found


def different(page: Page, *pictures: bytes) -> int:
    """In how many pixels two PNGs of the same size differ."""
    return page.evaluate(DIFFERENT.replace("PICTURES", json.dumps([base64.b64encode(x).decode() for x in pictures])))


def texts(page: Page, selector: str = "text") -> list[Text]:
    return [Text(*found) for found in page.evaluate(TEXTS.replace("SELECTOR", json.dumps(selector)))]


def overprinted(shown: list[Text]) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than a pixel."""
    return [
        (a.text, b.text)
        for a, b in combinations(shown, 2)
        if min(a.right, b.right) - max(a.left, b.left) > 1 and min(a.bottom, b.bottom) - max(a.top, b.top) > 1
    ]


def check_page(page: Page, curves: int) -> int:
    """Assert that as many curves are there, and seen; that nothing went wrong, and nothing was asked for. The pixels of the
    curve that has the fewest."""
    seen = pixels(page)
    assert len(seen) == curves
    assert {name: count for name, count in seen.items() if count < ENOUGH} == {}
    assert page.errors() == []
    assert page.requests() == []
    return min(seen.values())
