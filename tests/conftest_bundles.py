"""A benchmark of 60 questions with four relevant passages or one, and others; nothing embedded."""

import json
from pathlib import Path

import citeforge as cf

N = 60


def passages(query: int) -> list[tuple[str, bool]]:
    """(text, whether it is relevant): four relevant ones of even queries, one of odd ones."""
    relevant = 4 if query % 2 == 0 else 1
    result = [(f"Town {query} was founded in {1000 + query}. Source {i} says so.", True)
             for i in range(relevant)]  # fmt: skip
    return result + [(f"River {i} flows near town {query}. It is long.", False) for i in range(12)]


def sixty(folder: Path) -> Path:
    """Build it."""
    rows = [
        {
            "query": f"When was town {q} founded?",
            "query_id": f"q{q}",
            "answers": [str(1000 + q)],
            "passages": {
                "passage_text": [t for t, _ in passages(q)],
                "is_selected": [int(r) for _, r in passages(q)],
            },
        }
        for q in range(N)
    ]
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = cf.RageRecipe(source=f"attrieval:{source}", licence="cc0-1.0", mixtures=("m=1,0,3",))
    cf.build(recipe, folder / "sixty")
    return folder / "sixty"
