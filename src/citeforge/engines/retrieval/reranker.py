"""Rerankers: models that read a query and a passage together, and score the pair."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Protocol

from citeforge.engines.model_files import (
    Located,
    find_model,
    loading_errors,
    model_title,
    quiet_transformers,
)
from citeforge.engines.models import openvino
from citeforge.engines.models.compute import require_openvino, resolve_device
from citeforge.engines.parallel import batched, one_thread_each
from citeforge.schemas.errors import InputError, require
from citeforge.schemas.recipes.base import Runtime

Pairs = Sequence[tuple[str, str]]
"""(query, passage) texts."""

BATCH = 32
"""Pairs per batch; batches are cut at fixed rows, because a score depends on its batch."""
_ALLOWED = "a cross-encoder for ranking, with one score, or a monoT5"


class Reranker(Protocol):
    """Model that scores (query, passage) pairs; scores of different queries are comparable."""

    def identity(self) -> dict[str, Any]:
        """Describe everything that a reranker's score depends on, apart from its pair and batch."""
        ...

    def scores(self, pairs: Pairs) -> list[float]:
        """Compute a relevance score for each (query, passage) pair, in order; higher is better."""
        ...


def make_reranker(
    name: str, device: str = "auto", alternative: str = "retrieval without --reranker"
) -> Reranker:
    """Load a T5 as monoT5, other models as cross-encoders; errors suggest ``alternative``.

    Args:
        name: folder or repository.
        device: ``auto``, ``cpu``, ``cuda``, …
        alternative: embedded choice that an error names.

    Raises:
        InputError: it cannot be loaded, or is neither.
        MissingExtraError: the libraries for it are not installed.
    """
    for module in ("torch", "transformers", "sentence_transformers"):
        require(module)
    located = find_model(name, None, alternative)
    from transformers import AutoConfig

    with loading_errors("cannot be loaded", name, _ALLOWED):
        config = AutoConfig.from_pretrained(located.folder, local_files_only=True)
    maker = MonoT5 if config.is_encoder_decoder else CrossEncoderReranker
    return maker(name, located, device)


class _LocalReranker(ABC):
    """Reranker that runs here: it scores batches of pairs, each on one thread."""

    kind: ClassVar[str]

    def __init__(self, name: str, located: Located, device: str) -> None:
        """Set the name, files and device of the model; it is loaded at the first use."""
        self.name = name
        self.located = located
        self._device = device

    @cached_property
    def device(self) -> str:
        """Device that the reranker computes on, with ``auto`` resolved."""
        return resolve_device(self._device)

    def identity(self) -> dict[str, Any]:
        """Describe the model: its name, kind, and the hash or revision of its files."""
        return {"name": model_title(self.name), "kind": self.kind, **self.located.identity}

    @abstractmethod
    def _tokenise(self, pairs: Pairs) -> Any:
        """Tokenise (query, passage) pairs as the model expects them."""

    @property
    @abstractmethod
    def _scorer(self) -> Callable[[Any], Any]:
        """Load the model; return a function from a tokenised batch to a tensor of scores."""

    def scores(self, pairs: Pairs) -> list[float]:
        """Score pairs in batches, longest first; return the scores in the order of the pairs.

        Raises:
            InputError: the model is none that gives one score per pair.
        """
        import torch

        score = self._scorer

        def score_batch(tokens: Any) -> list[float]:
            """Compute the scores of one tokenised batch."""
            with torch.inference_mode():
                values: list[float] = score(tokens).tolist()
            return values

        order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i][0]) - len(pairs[i][1]), i))
        tokens = (self._tokenise([pairs[i] for i in rows]) for rows in batched(order, BATCH))
        device = self.device.split(":")[0]
        values = chain.from_iterable(one_thread_each(score_batch, tokens, device))
        by_row = dict(zip(order, values, strict=True))
        return [by_row[row] for row in range(len(pairs))]


class CrossEncoderReranker(_LocalReranker):
    """Any sentence-transformers ``CrossEncoder`` with one score per pair.

    Scores are what the model's own activation gives, usually in [0, 1].
    """

    kind = "cross-encoder"

    def __init__(
        self, name: str, located: Located, device: str, runtime: Runtime = "torch"
    ) -> None:
        """Set the cross-encoder's files, device and runtime (torch or OpenVINO).

        Args:
            name: name that the user gave.
            located: folder and identity of the model.
            device: device on which it computes.
            runtime: library that computes: torch or OpenVINO.
        """
        super().__init__(name, located, device)
        self._by_openvino = runtime == "openvino"
        if self._by_openvino:
            require_openvino(device, "--runtime openvino")

    def identity(self) -> dict[str, Any]:
        """Describe the model, and OpenVINO's version if OpenVINO computes it."""
        engine = {"engine": openvino.engine_version()} if self._by_openvino else {}
        return super().identity() | engine

    @cached_property
    def _model(self) -> Any:
        """Load the cross-encoder; refuse one with several scores per pair."""
        from sentence_transformers import CrossEncoder

        with loading_errors("cannot be loaded", self.name, _ALLOWED):
            model = CrossEncoder(str(self.located.folder), device=self.device)
        if model.num_labels != 1:
            raise InputError(
                f"returns {model.num_labels} scores per pair; a reranker returns one",
                path=self.name,
                allowed=_ALLOWED,
                code="bad-model",
            )
        if self._by_openvino:
            example = model.preprocess([("a query", "a text"), ("another", "a longer text")])
            model[0].model = openvino.compile_module(self.name, model[0].model, example)
        return model

    def _tokenise(self, pairs: Pairs) -> Any:
        """Tokenise (query, passage) pairs with the cross-encoder's own tokenizer."""
        return self._model.preprocess(pairs)

    @cached_property
    def _scorer(self) -> Callable[[Any], Any]:
        """Load the model; return a function from a tokenised batch to its scores."""
        model = self._model

        def score(tokens: dict[str, Any]) -> Any:
            """Apply the model and its activation function to a batch."""
            features = {k: v.to(model.device) if hasattr(v, "to") else v for k, v in tokens.items()}
            return model.activation_fn(model(features)["scores"].float()).flatten()

        return score


_WORDS = {"mt5": ("▁no", "▁yes")}
_OTHERWISE = ("▁false", "▁true")
_LONGEST = 512
_END = " Relevant:"


class MonoT5(_LocalReranker):
    """``Query: … Document: … Relevant:`` answered by "true" or "false" (Nogueira et al. 2020).

    The score is the log-probability of "true" against "false" as the first token; multilingual
    ones say "yes" and "no". A passage that does not fit into 512 tokens is cut at its end.
    """

    kind = "monot5"

    @cached_property
    def _tokeniser(self) -> Any:
        """Load the tokenizer of the model."""
        from transformers import AutoTokenizer

        allowed = "the files of its tokenizer (T5's) in the same folder"
        with loading_errors("has no tokenizer that can be loaded", self.name, allowed):
            return AutoTokenizer.from_pretrained(self.located.folder, local_files_only=True)

    def _tokenise(self, pairs: Pairs) -> Any:
        """Write pairs in monoT5's template, cut to 512 tokens, and tokenise them."""
        texts = [f"Query: {query} Document: {passage}{_END}" for query, passage in pairs]
        *ids, end = self._tokeniser(
            [*texts, _END.strip()], truncation=False, verbose=False
        ).input_ids
        cut = [i if len(i) <= _LONGEST else [*i[: _LONGEST - len(end)], *end] for i in ids]
        return self._tokeniser.pad({"input_ids": cut}, return_tensors="pt")

    @cached_property
    def _scorer(self) -> Callable[[Any], Any]:
        """Load the model; return a function from a batch to log-probabilities of relevance."""
        import torch

        transformers = quiet_transformers()
        with loading_errors("cannot be loaded", self.name, _ALLOWED):
            model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                self.located.folder, local_files_only=True
            )
        model = model.to(self.device).float().eval()
        words = _WORDS.get(model.config.model_type, _OTHERWISE)
        vocabulary = self._tokeniser.get_vocab()
        missing = [w for w in words if w not in vocabulary]
        if missing:
            raise InputError(
                f"has no token {missing[0]!r}, which a monoT5 answers with",
                path=self.name,
                allowed=_ALLOWED,
                code="bad-model",
            )
        label_ids = [vocabulary[w] for w in words]
        begin = model.config.decoder_start_token_id

        def score(tokens: Any) -> Any:
            """Compute the log-probability of "true" against "false" for each pair."""
            inputs = {n: tokens[n].to(self.device) for n in ("input_ids", "attention_mask")}
            start = torch.full((len(inputs["input_ids"]), 1), begin, device=self.device)
            logits = model(**inputs, decoder_input_ids=start, use_cache=False).logits[
                :, 0, label_ids
            ]
            return torch.log_softmax(logits.float(), dim=1)[:, 1]

        return score
