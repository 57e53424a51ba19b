"""Models that correctness measures use: BERTScore, and the features of MAUVE."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from citeforge.engines.model_files import find_model, quiet_transformers
from citeforge.engines.parallel import batched, one_thread_each
from citeforge.schemas.errors import InputError, extras_named, require
from citeforge.schemas.recipes.command_options import BERTSCORE_LAYER, BERTSCORE_MODEL, MAUVE_MODEL

_MAUVE_BATCH = 8  # ALCE's
_BERTSCORE_BATCH = 64  # bert-score's own
_INSTEAD = "measures without a model"


def locate_model(name: str) -> tuple[str, str]:
    """Find a model on the Hub or in a folder: (its folder, start of its revision or hash).

    Raises:
        InputError: it cannot be found or fetched.
    """
    model = find_model(name, None, _INSTEAD)
    return str(model.folder), next(iter(model.identity.values()))[:12]


class BertScore:
    """BERTScore without idf and rescaling; each output is scored against its best reference."""

    def __init__(self, model: str = BERTSCORE_MODEL, layer: int = BERTSCORE_LAYER) -> None:
        """Load the BERTScore model from the Hub or a folder, with its first ``layer`` layers.

        Raises:
            MissingExtraError: bert-score is not installed.
            InputError: the model cannot be found or fetched.
        """
        require("bert_score")
        folder, self.revision = locate_model(model)  # before seconds of imports
        from bert_score import BERTScorer

        quiet_transformers()
        self._scorer: Any = BERTScorer(model_type=folder, num_layers=layer, device="cpu")

    def best(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]]
    ) -> list[tuple[float, float, float]]:
        """Compute BERTScore (P, R, F) of each output against the reference with the highest F.

        An empty text scores 0 and is never sent.

        Args:
            outputs: texts to score.
            references: right texts for each output.

        Returns:
            (P, R, F) of each output.
        """
        pairs = [
            (i, output, reference)
            for i, (output, group) in enumerate(zip(outputs, references, strict=True))
            for reference in group
            if output.strip() and reference.strip()
        ]
        best = [(0.0, 0.0, 0.0)] * len(outputs)
        states = self._embed_tokens({text for _, *both in pairs for text in both})
        batches = batched(pairs, _BERTSCORE_BATCH)
        matched = one_thread_each(lambda batch: _match_pairs(batch, states), batches)
        for batch, values in zip(batches, matched, strict=True):
            for (i, _, _), scores in zip(batch, values, strict=True):
                if scores[2] > best[i][2]:
                    best[i] = scores
        return best

    def _embed_tokens(self, texts: set[str]) -> dict[str, tuple[Any, Any]]:
        """Map each text to its token vectors and token weights (1, or 0 for start and end).

        bert-score's own loop, but that its batches follow the order of a Python set, which is
        another one in every run, and that each is computed on as many threads as there are.
        """
        from bert_score.utils import bert_encode, collate_idf

        tokenizer, model = self._scorer._tokenizer, self._scorer._model
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        weights |= {tokenizer.sep_token_id: 0.0, tokenizer.cls_token_id: 0.0}
        order = sorted(texts, key=lambda t: (-len(t.split(" ")), t))
        batches = batched(order, _BERTSCORE_BATCH)
        collated = (collate_idf(batch, tokenizer, weights, device="cpu") for batch in batches)

        def encode_batch(batch: tuple[Any, Any, Any, Any]) -> list[tuple[Any, Any]]:
            """Embed the tokens of one batch: (vectors, weights) per text, without padding."""
            import torch

            ids, idf, lengths, mask = batch
            with torch.no_grad():
                vectors = bert_encode(model, ids, attention_mask=mask, all_layers=False)
            sizes = lengths.tolist()
            return [(v[:n], w[:n]) for v, w, n in zip(vectors, idf, sizes, strict=True)]

        by_text: dict[str, tuple[Any, Any]] = {}
        for batch, states in zip(batches, one_thread_each(encode_batch, collated), strict=True):
            by_text.update(zip(batch, states, strict=True))
        return by_text


def _match_pairs(
    batch: Sequence[tuple[int, str, str]], states: Mapping[str, tuple[Any, Any]]
) -> list[tuple[float, float, float]]:
    """Compute BERTScore (P, R, F) of (output, reference) pairs from their token vectors.

    Args:
        batch: (row of the output, output, reference) of each pair.
        states: token vectors and weights of each text.
    """
    import torch
    from bert_score.utils import greedy_cos_idf
    from torch.nn.utils.rnn import pad_sequence

    sides: list[Any] = []
    for texts in ([r for _, _, r in batch], [o for _, o, _ in batch]):
        vectors, weights = zip(*(states[text] for text in texts), strict=True)
        lengths = torch.tensor([len(v) for v in vectors])
        padded = pad_sequence(list(vectors), batch_first=True, padding_value=2.0)
        mask = torch.arange(padded.shape[1])[None, :] < lengths[:, None]
        sides += [padded, mask, pad_sequence(list(weights), batch_first=True)]
    with torch.no_grad():
        scores = torch.stack(greedy_cos_idf(*sides), dim=-1).tolist()
    return [(p, r, f) for p, r, f in scores]


def mauve_value(human: Sequence[str], outputs: Sequence[str], model: str = MAUVE_MODEL) -> float:
    """Compute MAUVE (similarity of two sets of texts, 0 to 1) between human texts and outputs.

    Args:
        human: human texts.
        outputs: texts of a system.
        model: embeds the texts.

    Raises:
        MissingExtraError: mauve-text is not installed.
        InputError: the model cannot be found or fetched.
    """
    require("mauve")
    folder, _ = locate_model(model)  # before seconds of imports
    with extras_named():
        from mauve import compute_mauve
        from mauve.utils import get_model, get_tokenizer
        from threadpoolctl import threadpool_limits

    outputs, human = list(outputs), list(human)
    try:
        tokenizer = get_tokenizer(folder)
        network = get_model(folder, tokenizer, -1)
        features = [_last_states(network, tokenizer, texts) for texts in (human, outputs)]
        # PCA and k-means are cheap, and on several threads their last bits are another every time.
        with threadpool_limits(1):
            result = compute_mauve(*features)
    except ValueError as error:
        raise InputError(
            f"cannot be used by mauve-text ({str(error)[:120]})",
            path=model,
            allowed="a GPT-2 or BERT model whose folder name says so",
            code="bad-model",
        ) from error
    return float(result.mauve)


def _last_states(network: Any, tokenizer: Any, texts: list[str]) -> Any:
    """Compute the last token's hidden state for each non-empty text; shape (texts, dimension).

    Args:
        network: model of transformers.
        tokenizer: its tokenizer.
        texts: texts; empty ones are left out.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tokens = [
        tokenizer.encode(t, return_tensors="pt", truncation=True, max_length=512)[0]
        for t in texts
        if t
    ]

    def compute_states(batch: Sequence[Any]) -> Any:
        """Run the network on a batch of token ids; return the states of the last tokens."""
        ids = pad_sequence(list(batch), batch_first=True, padding_value=0)
        mask = pad_sequence([torch.ones_like(t) for t in batch], batch_first=True)
        with torch.inference_mode():
            output = network(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        last = torch.tensor([len(t) - 1 for t in batch])
        return output.hidden_states[-1][torch.arange(len(batch)), last]

    states = list(one_thread_each(compute_states, batched(tokens, _MAUVE_BATCH)))
    if not states:
        raise ValueError("every text is empty")
    return torch.cat(states).numpy()
