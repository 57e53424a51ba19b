"""ALCE's QA measures, run by an interpreter with transformers 4.28.

Arguments: ALCE's folder, a folder for the model, items (JSON), where to write scores and answers.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

from tiny_models import make_qa_model


def main() -> None:
    alce, folder, items, out = (Path(a) for a in sys.argv[1:])
    make_qa_model(folder)
    sys.path.insert(0, str(alce))
    import transformers

    logging.disable(logging.WARNING)
    real = transformers.pipeline
    kept: list[str] = []

    def pipeline(task: str, model: str, device: int) -> Any:
        inner = real(task, model=str(folder), device=-1)

        def ask(**given: Any) -> Any:
            results = inner(**given)
            kept.extend(r["answer"] for r in results)
            return results

        return ask

    result: dict[str, Any] = {"__name__": "alce_eval"}
    exec(compile((alce / "eval.py").read_text(), "eval.py", "exec"), result)
    result["pipeline"] = pipeline
    scores = result["compute_qa"](json.loads(items.read_text()))
    out.write_text(json.dumps({"scores": scores, "answers": kept}))


if __name__ == "__main__":
    main()
