"""Colours and shapes of systems in plots.

Hues are those of Okabe and Ito (2008, Color Universal Design), darkened or lightened so that each
has a contrast of 3:1 or more to its background (WCAG 2.1, 1.4.11), and people with protanopia or
deuteranopia (simulated as in Machado et al. 2009) see all as different. Systems also differ in
shape.
"""

LIGHT = ("#004166", "#7a3600", "#00664a", "#c76b9e", "#b87f00", "#1f1f1f")
"""Colours on white, in the order of systems."""
DARK = ("#0aa7ff", "#f56c00", "#d6fff4", "#de91bc", "#ffd985", "#666666")
"""Colours on the dark background, in the same order."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down",
          "triangle-right", "triangle-left")  # fmt: skip
FOREGROUND, SOFT, LINE, BAND, GROUND = "#1b1f24", "#59636e", "#d1d9e0", "#eef1f4", "#fffffe"
"""Colours of text, secondary text, lines, bands and background; pages use CSS variables instead."""

_VARIABLES = {
    FOREGROUND: "--fg",
    SOFT: "--soft",
    LINE: "--line",
    BAND: "--band",
    GROUND: "--bg",
    **{colour: f"--c{i}" for i, colour in enumerate(LIGHT)},
}


def colour(number: int) -> str:
    """Get the colour of a system by its number, from 0."""
    return LIGHT[number % len(LIGHT)]


def shape(number: int) -> str:
    """Get the shape of a system by its number; the first 48 systems differ in colour or shape."""
    return SHAPES[(number + number // len(LIGHT)) % len(SHAPES)]


def with_variables(svg: str) -> str:
    """Replace the colours in an SVG by CSS variables, so that it follows a page's dark mode."""
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(f'"{colour}"', f'"var({variable})"')
    return svg


def css() -> str:
    """Write the CSS rules that define the colours of systems, for light and dark mode."""

    def rules(colours: tuple[str, ...], band: str) -> str:
        """Write the CSS variables of one mode (light or dark): colours of systems and of bands."""
        return "".join(f"--c{i}:{c};" for i, c in enumerate(colours)) + f"--band:{band};"

    dark = rules(DARK, "#21262d")
    return (
        f":root{{{rules(LIGHT, BAND)}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )  # fmt: skip
