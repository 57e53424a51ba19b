"""Writes replay.jsonl: the hand-written twins of texts.jsonl as answers of a model.

Run it again when the prompt of `build twins` changes: python examples/twins/make_store.py
"""

import json
from pathlib import Path

from citeforge.builders.authorship.checks import twin_request
from citeforge.engines.llm.records import LlmReply
from citeforge.engines.llm.replay import encode_answer
from citeforge.schemas.recipes.twins import Attempts

HERE = Path(__file__).parent
MODEL = "hand-written"


def replay_text() -> str:
    """The exported store, one answer a line."""
    with (HERE.parent / "facts" / "corpus.jsonl").open() as file:
        passages = {row["_id"]: row for row in map(json.loads, file)}
    lines = []
    with (HERE / "texts.jsonl").open() as file:
        for row in map(json.loads, file):
            found = passages[row["_id"]]
            for attempt, text in enumerate(row["attempts"]):
                temperature = Attempts().get_temperature(attempt)
                request = twin_request(found["title"], found["text"], temperature, attempt)
                content = {
                    "key": request.key(MODEL),
                    "payload": request.payload(MODEL),
                    "sample": request.sample,
                    "answer": json.loads(encode_answer(LlmReply(text, model=MODEL))),
                    "created": 0.0,
                }
                lines.append(json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n")
    return "".join(lines)


if __name__ == "__main__":
    (HERE / "replay.jsonl").write_text(replay_text())
