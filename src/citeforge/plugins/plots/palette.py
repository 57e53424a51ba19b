"""Colours and shapes of plots.

Hues are those of Okabe and Ito (2008, Color Universal Design), darkened or lightened so that each
stands at 3:1 or more against its background (WCAG 2.1, 1.4.11) and all can be told apart by people
with protanopia and deuteranopia (simulated as in Machado et al. 2009). Colour never tells alone:
systems differ in shape, too.
"""

LIGHT = ("#004166", "#7a3600", "#00664a", "#c76b9e", "#b87f00", "#1f1f1f")
"""On white, in the order of systems."""
DARK = ("#0aa7ff", "#f56c00", "#d6fff4", "#de91bc", "#ffd985", "#666666")
"""On the dark background, in the same order."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down",
          "triangle-right", "triangle-left")  # fmt: skip
FOREGROUND, SOFT, LINE, BAND, GROUND = "#1b1f24", "#59636e", "#d1d9e0", "#eef1f4", "#fffffe"
"""Text, text beside it, lines, shaded groups, background; in pages their variables stand."""

_VARIABLES = {
    FOREGROUND: "--fg",
    SOFT: "--soft",
    LINE: "--line",
    BAND: "--band",
    GROUND: "--bg",
    **{colour: f"--c{i}" for i, colour in enumerate(LIGHT)},
}


def colour(number: int) -> str:
    """Colour of the system of this number, from 0."""
    return LIGHT[number % len(LIGHT)]


def shape(number: int) -> str:
    """Its shape; the first 48 systems differ in colour or shape."""
    return SHAPES[(number + number // len(LIGHT)) % len(SHAPES)]


def with_variables(svg: str) -> str:
    """A drawing whose colours are the page's CSS variables, so that it follows its dark mode."""
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(f'"{colour}"', f'"var({variable})"')
    return svg


def css() -> str:
    """The variables that :func:`with_variables` uses beside the page's own."""

    def variables(colours: tuple[str, ...], band: str) -> str:
        """Declare the CSS variables of one colour scheme."""
        return "".join(f"--c{i}:{c};" for i, c in enumerate(colours)) + f"--band:{band};"

    dark = variables(DARK, "#21262d")
    return (
        f":root{{{variables(LIGHT, BAND)}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )  # fmt: skip
