"""Drawings as SVG, in a few small functions; the same values give the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from toolreel.evals._report.palette import drawing_css
from toolreel.evals._report.words import visible


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture."""

    name: str
    """Of its file, and what its identifiers begin with."""
    width: float
    height: float
    title: str
    about: str
    """What one sees in it, for those who do not see it."""
    body: str

    @property
    def inline(self) -> str:
        """The element for a page that has the rules of all drawings."""
        return self._element("")

    @property
    def standalone(self) -> str:
        """A file of its own, readable on light and on dark paper."""
        return self._element(f"<style>{drawing_css()}</style>{rect(0, 0, self.width, self.height, 'paper')}")

    def _element(self, before: str) -> str:
        size = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}" width="{_number(self.width)}"'
        label = f'role="img" aria-labelledby="{self.name}-title {self.name}-about"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} height="{_number(self.height)}" {label}>'
            f'<title id="{self.name}-title">{_text(self.title)}</title>'
            f'<desc id="{self.name}-about">{_text(self.about)}</desc>{before}{self.body}</svg>\n'
        )


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    """A rectangle; the title is shown to whoever points at it."""
    place = _attributes(x=x, y=y, width=width, height=height)
    return _shape("rect", place, kind, title)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line {_attributes(x1=x1, y1=y1, x2=x2, y2=y2)} class="{kind}"/>'


def text(x: float, y: float, content: str, kind: str = "ink", *, turned: float = 0) -> str:
    """A text whose base line begins there.

    :param turned: degrees, clockwise around its beginning
    """
    turn = f' transform="rotate({_number(turned)} {_number(x)} {_number(y)})"' if turned else ""
    return f'<text {_attributes(x=x, y=y)} class="{kind}"{turn}>{_text(content)}</text>'


def group(*parts: str, title: str = "") -> str:
    """Some elements that belong together."""
    return f"<g>{_title(title)}{''.join(parts)}</g>"


def circle(x: float, y: float, kind: str) -> str:
    """A dot."""
    return f'<circle {_attributes(cx=x, cy=y)} r="5" class="{kind}"/>'


def square(x: float, y: float, kind: str) -> str:
    """A square around a point."""
    return rect(x - 4.5, y - 4.5, 9, 9, kind)


def triangle(x: float, y: float, kind: str) -> str:
    """A triangle around a point."""
    return _path(((x, y - 6), (x + 5.5, y + 4.5), (x - 5.5, y + 4.5)), kind)


def diamond(x: float, y: float, kind: str) -> str:
    """A square on its corner."""
    return _path(((x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)), kind)


def marker(place: int, x: float, y: float, kind: str) -> str:
    """The shape of the strategy at a place, around a point."""
    shapes = (square, circle, triangle, diamond)
    return shapes[place % len(shapes)](x, y, kind)


def width_of(words: str) -> float:
    """About how wide a text is, in the size of most texts."""
    return 6.6 * len(words)


def _path(corners: tuple[tuple[float, float], ...], kind: str) -> str:
    way = " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)
    return f'<polygon points="{way}" class="{kind}"/>'


def _shape(name: str, place: str, kind: str, title: str) -> str:
    if not title:
        return f'<{name} {place} class="{kind}"/>'
    return f'<{name} {place} class="{kind}">{_title(title)}</{name}>'


def _title(words: str) -> str:
    return f"<title>{_text(words)}</title>" if words else ""


def _attributes(**numbers: float) -> str:
    return " ".join(f'{name}="{_number(value)}"' for name, value in numbers.items())


def _number(value: float) -> str:
    """A length, with as few digits as a picture needs."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _text(words: str) -> str:
    return escape(visible(words), quote=False)
