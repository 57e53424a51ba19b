"""Extractive question answering as ALCE's evaluator does it.

It calls transformers 4.28's question-answering pipeline, which later versions do not ship; spans
are decoded here the same way (tests compare the two).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.model_files import loading_errors, quiet_transformers
from citeforge.engines.models.answer_models import locate_model
from citeforge.engines.parallel import one_thread_each
from citeforge.schemas.recipes.command_options import QA_MODEL

_LONGEST_INPUT = 384
_STRIDE = 128
_LONGEST_SPAN = 15
_NEVER = -10_000.0
_F32 = npt.NDArray[np.float32]


class ExtractiveQa:
    """Finds answer spans with an extractive QA model: at most 15 tokens, whole words."""

    def __init__(self, model: str = QA_MODEL) -> None:
        """Load the question-answering model and its tokenizer from the Hub or a folder.

        Raises:
            InputError: it cannot be found or fetched, or is no QA model.
        """
        folder, self.revision = locate_model(model)
        transformers = quiet_transformers()
        with loading_errors("is not an extractive QA model", model):
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True
            )
            self._model: Any = transformers.AutoModelForQuestionAnswering.from_pretrained(
                folder, local_files_only=True
            ).eval()
        self._limit = min(self._tokenizer.model_max_length, _LONGEST_INPUT)

    def answer(self, question: str, context: str) -> str:
        """Find the answer to one question in a context; see :meth:`answers`."""
        return self.answers([(question, context)])[0]

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Find the likeliest answer in each (question, context); empty if "no answer" is likelier.

        Long contexts are read in overlapping windows; a span's probability is that of its own
        window, and "no answer" has the lowest that any window gives it.

        Args:
            pairs: (question, context) of each.
        """
        read = ((self._windows(q, c) if c.strip() else None, c) for q, c in pairs)
        return list(one_thread_each(self._find_answer, read))

    def _find_answer(self, windows_and_context: tuple[Any | None, str]) -> str:
        """Find the likeliest answer in a context's windows; empty if "no answer" is likelier.

        Args:
            windows_and_context: tokenised windows of a context with its question (None if there
                are none), and the context.
        """
        windows, context = windows_and_context
        if windows is None:
            return ""
        best, text, none = -1.0, "", float("inf")
        for window in range(len(windows["input_ids"])):
            allowed = self._allowed(windows, window)
            start, end = self._probabilities(windows, window, allowed)
            none = min(none, float(start[0] * end[0]))
            start[0] = end[0] = 0.0
            spans = np.tril(np.triu(np.outer(start, end)), _LONGEST_SPAN - 1)
            first, last = divmod(int(spans.argmax()), len(start))
            if not (allowed[first] and allowed[last]):
                continue
            if float(spans[first, last]) > best:
                best = float(spans[first, last])
                low, high = _whole_words(windows[window], first, last)
                text = context[low:high]
        return text if best >= none else ""

    def _windows(self, question: str, context: str) -> Any | None:
        """Tokenise a question with overlapping windows of a context; None if no room is left."""
        special = self._tokenizer.num_special_tokens_to_add(pair=True)
        n_question = len(self._tokenizer(question, add_special_tokens=False)["input_ids"])
        room = self._limit - special - n_question
        if room <= 1:
            return None
        return self._tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=self._limit,
            stride=min(self._limit // 2, _STRIDE, room - 1),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )

    def _allowed(self, windows: Any, window_index: int) -> npt.NDArray[np.bool_]:
        """Make the mask of a window's tokens that may begin or end an answer; [CLS] means none."""
        inside = np.array([s == 1 for s in windows.sequence_ids(window_index)])
        ids = np.array(windows["input_ids"][window_index])
        allowed: npt.NDArray[np.bool_] = inside | (ids == self._tokenizer.cls_token_id)
        return allowed

    def _probabilities(
        self, windows: Any, window_index: int, allowed: npt.NDArray[np.bool_]
    ) -> tuple[_F32, _F32]:
        """Compute each token's probabilities (to begin, to end the answer) in one text window.

        Args:
            windows: tokenised windows of a context with its question.
            window_index: number of the window.
            allowed: mask of the tokens at which an answer may begin or end.
        """
        import torch

        names = [n for n in self._tokenizer.model_input_names if n in windows]
        with torch.inference_mode():
            output = self._model(**{n: torch.tensor([windows[n][window_index]]) for n in names})
        probabilities = []
        for logits in (output.start_logits, output.end_logits):
            scores = np.where(allowed, logits[0].float().numpy(), np.float32(_NEVER))
            weights = np.exp(scores - scores.max())
            probabilities.append(weights / weights.sum())
        return probabilities[0], probabilities[1]


def _whole_words(encoding: Any, first: int, last: int) -> tuple[int, int]:
    """Widen the tokens first to last to whole words: (start, end) as offsets in the context.

    Args:
        encoding: tokens of one window.
        first: first token of the span.
        last: its last token.
    """
    words = (encoding.token_to_word(first), encoding.token_to_word(last))
    if None not in words:
        low = encoding.word_to_chars(words[0], sequence_index=1)
        high = encoding.word_to_chars(words[1], sequence_index=1)
        if low is not None and high is not None:
            return low[0], high[1]
    return encoding.offsets[first][0], encoding.offsets[last][1]
