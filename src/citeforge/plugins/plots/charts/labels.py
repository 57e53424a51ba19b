"""Where the labels of dots stand: beside their own, over nothing else."""

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

MOST = 12
"""More dots than these have a legend."""
FONT_SIZE = 12
LETTERS, LINES, ROOM = 22, 3, 150
"""Of a name beside an axis: letters and pixels of a line, and lines."""
_GAP = 3.0
_RADIUS = 6.0


@dataclass(frozen=True)
class Box:
    """A label's rectangle in pixels, from the upper left corner of the frame."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        """Whether the two are less than a hair apart."""
        return (
            self.x < other.x + other.width + 2 and other.x < self.x + self.width + 2
            and self.y < other.y + other.height and other.y < self.y + self.height
        )  # fmt: skip

    def distance(self, x: float, y: float) -> float:
        """From a point to the nearest point of the rectangle."""
        return math.hypot(
            max(self.x - x, 0.0, x - self.x - self.width),
            max(self.y - y, 0.0, y - self.y - self.height),
        )


def width_of(text: str) -> float:
    """Width in pixels, on the safe side for any sans-serif font."""
    return 0.66 * FONT_SIZE * cell_len(text)


def name_lines(names: Iterable[str], letters: int = LETTERS) -> dict[str, list[str]]:
    """Names with their lines, of which very long ones lose their end."""
    cut = textwrap.TextWrapper(letters, max_lines=LINES, placeholder="…")
    return {name: cut.wrap(name) or [name] for name in names}


def lookup(lines: dict[str, list[str]]) -> str:
    """The expression by which a drawing finds the lines of a label."""
    return f"({json.dumps(lines)})[datum.label]"


def place_labels(
    dots: Sequence[tuple[float, float]], texts: Sequence[str], frame: tuple[float, float]
) -> list[Box] | None:
    """A box for the label of each dot, or None where they have no room.

    Every box lies in the frame, overlaps no other and no dot, and is nearer to its own dot than to
    any other. Dots that stand on one point have no such labels.

    Args:
        dots: centres in pixels.
        texts: one a dot.
        frame: width and height in pixels.
    """
    near = [sum(math.dist(a, b) < 80 for b in dots) for a in dots]
    orders = (
        sorted(range(len(dots)), key=lambda i: (-near[i], dots[i])),
        sorted(range(len(dots)), key=lambda i: dots[i]),
        sorted(range(len(dots)), key=lambda i: (dots[i][1], dots[i][0])),
        sorted(range(len(dots)), key=lambda i: (-dots[i][0], dots[i][1])),
    )
    for order in orders:
        placed: dict[int, Box] = {}
        for i in order:
            found = next(
                (b for b in _candidates(*dots[i], texts[i]) if _fits(b, i, dots, placed, frame)),
                None,
            )
            if found is None:
                break
            placed[i] = found
        else:
            return [placed[i] for i in range(len(dots))]
    return None


def _candidates(x: float, y: float, text: str) -> Iterator[Box]:
    """Above and below right first: there lies no interval of the dot's own."""
    width, height = width_of(text), FONT_SIZE + 3.0
    for gap in (_RADIUS, 2 * _RADIUS, 3 * _RADIUS, 4 * _RADIUS):
        for across, down in ((1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (-1, 0)):
            left = x + gap if across > 0 else x - gap - width if across < 0 else x - width / 2
            top = y - gap - height if down < 0 else y + gap if down > 0 else y - height / 2
            yield Box(left, top, width, height)


def _fits(
    box: Box,
    own: int,
    dots: Sequence[tuple[float, float]],
    placed: dict[int, Box],
    frame: tuple[float, float],
) -> bool:
    inside = (
        box.x >= 0 and box.y >= 0 and box.x + box.width <= frame[0]
        and box.y + box.height <= frame[1]
    )  # fmt: skip
    if not inside or any(box.overlaps(other) for other in placed.values()):
        return False
    mine = box.distance(*dots[own])
    others = [box.distance(*dot) for i, dot in enumerate(dots) if i != own]
    return all(d > mine + _GAP and d > _RADIUS for d in others)
