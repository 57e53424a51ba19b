"""Ways to find sources among the passages shown, as ``--format NAME:WAY`` names them."""

WAYS = ("shown", "own", "id", "index", "title", "url")
"""Ways to match sources with passages: ``shown`` is by id, then by title, then by number."""
WAY = "[WAY]"
"""What ``--format`` takes behind the name of a format whose sources are matched with passages."""


def list_ways(is_numbered: bool) -> list[str]:
    """List the names of the ways to match sources with passages that a format offers.

    Args:
        is_numbered: whether its sources have a number among the passages shown.
    """
    return [*(way for way in WAYS if way != "index" or is_numbered), "url=FIELD"]
