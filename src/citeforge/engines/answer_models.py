"""Models that correctness measures use: BERTScore, MAUVE's features, extractive QA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeforge.engines.models import find_model
from citeforge.schemas.errors import InputError, MissingExtraError

QA_MODEL = "gaotianyu1350/roberta-large-squad"
BERTSCORE_MODEL = "roberta-large"
BERTSCORE_LAYER = 17
MAUVE_MODEL = "gpt2-large"
_LONGEST_SPAN = 30
_STRIDE = 128
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
            verbose=False,
        )
    except ValueError as error:
        raise InputError(
            f"cannot be used by mauve-text ({str(error)[:120]})",
            path=model,
            allowed="a GPT-2 or BERT model whose folder name says so",
        ) from error
    return float(result.mauve)


class ExtractiveQa:
    """Answer spans of an extractive QA model, decoded here: the pipeline is no longer shipped."""

    def __init__(self, model: str = QA_MODEL) -> None:
        """Load the model.

        Raises:
            InputError: it cannot be had, or is no QA model.
        """
        folder, self.revision = locate(model)
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model: Any = AutoModelForQuestionAnswering.from_pretrained(
                folder, local_files_only=True
            ).eval()
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"is not an extractive QA model ({str(error)[:120]})", path=model
            ) from error
        self._limit = min(self._tokenizer.model_max_length, 384)

    def answer(self, question: str, context: str) -> str:
        """The likeliest span of the context; empty when no span is likelier than none.

        Long contexts are read in overlapping windows.
        """
        if not context.strip():
            return ""
        import torch

        encoded = self._tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=self._limit,
            stride=min(_STRIDE, self._limit // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").tolist()
        encoded.pop("overflow_to_sample_mapping", None)
        with torch.inference_mode():
            output = self._model(**encoded)
        starts = output.start_logits.log_softmax(dim=1)
        ends = output.end_logits.log_softmax(dim=1)
        best, text, none = -float("inf"), "", float("inf")
        for window, places in enumerate(offsets):
            inside = torch.tensor([s == 1 for s in encoded.sequence_ids(window)])
            none = min(none, float(starts[window, 0] + ends[window, 0]))
            scores = starts[window][:, None] + ends[window][None, :]
            size = len(inside)
            allowed = torch.ones(size, size).triu().tril(_LONGEST_SPAN - 1).bool()
            allowed &= inside[:, None] & inside[None, :]
            scores = scores.masked_fill(~allowed, -torch.inf)
            top = int(scores.argmax())
            if float(scores.flatten()[top]) > best:
                best = float(scores.flatten()[top])
                text = context[places[top // size][0] : places[top % size][1]]
        return text if best > none else ""
