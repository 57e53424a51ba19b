"""Models that correctness measures use: BERTScore and MAUVE's features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeforge.engines.models import find_model
from citeforge.schemas.errors import InputError, MissingExtraError

QA_MODEL = "gaotianyu1350/roberta-large-squad"
BERTSCORE_MODEL = "roberta-large"
BERTSCORE_LAYER = 17
MAUVE_MODEL = "gpt2-large"
_MAUVE_BATCH = 8  # ALCE's
_INSTEAD = "measures without a model"


def locate(name: str) -> tuple[str, str]:
    """(folder, revision) of a Hub model or a local folder.

    Raises:
        InputError: it cannot be had.
    """
    found = find_model(name, None, _INSTEAD)
    return str(found.folder), next(iter(found.identity.values()))[:12]


class BertScore:
    """BERTScore without idf and without rescaling, best F over the references."""

    def __init__(self, model: str = BERTSCORE_MODEL, layer: int = BERTSCORE_LAYER) -> None:
        """Load the model.

        Raises:
            MissingExtraError: bert-score is not installed.
            InputError: the model cannot be had.
        """
        folder, self.revision = locate(model)
        try:
            from bert_score import BERTScorer
        except ImportError as error:
            raise MissingExtraError("bert_score", "models", "BERTScore") from error
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._scorer: Any = BERTScorer(model_type=folder, num_layers=layer, device="cpu")

    def best(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]]
    ) -> list[tuple[float, float, float]]:
        """(P, R, F) of each output against its reference with the best F.

        An empty text scores 0 and is never sent.
        """
        pairs = [
            (i, output, reference)
            for i, (output, group) in enumerate(zip(outputs, references, strict=True))
            for reference in group
            if output.strip() and reference.strip()
        ]
        best = [(0.0, 0.0, 0.0)] * len(outputs)
        if not pairs:
            return best
        found = self._scorer.score([p[1] for p in pairs], [p[2] for p in pairs])
        for (i, _, _), *scores in zip(pairs, *(t.tolist() for t in found), strict=True):
            if scores[2] > best[i][2]:
                best[i] = (scores[0], scores[1], scores[2])
        return best


def mauve(human: Sequence[str], written: Sequence[str], model: str = MAUVE_MODEL) -> float:
    """MAUVE of two sets of texts.

    Raises:
        MissingExtraError: mauve-text is not installed.
        InputError: the model cannot be had.
    """
    folder, _ = locate(model)
    try:
        from mauve import compute_mauve
    except ImportError as error:
        raise MissingExtraError("mauve", "models", "MAUVE") from error
    try:
        result = compute_mauve(
            p_text=list(human),
            q_text=list(written),
            featurize_model_name=folder,
            max_text_length=512,
            batch_size=_MAUVE_BATCH,
            verbose=False,
        )
    except ValueError as error:
        raise InputError(
            f"cannot be used by mauve-text ({str(error)[:120]})",
            path=model,
            allowed="a GPT-2 or BERT model whose folder name says so",
        ) from error
    return float(result.mauve)
