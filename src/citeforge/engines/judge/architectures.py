"""The model classes of local judges, one per architecture."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from citeforge.engines.judge.nli_models import (
    Encoded,
    NliModel,
    NliSettings,
    at_least_float32,
    verdict_indices,
)
from citeforge.engines.judge.profiles import fill_messages
from citeforge.engines.judge.records import Pair
from citeforge.engines.model_files import loading_errors, quiet_transformers
from citeforge.engines.models import openvino
from citeforge.engines.models.compute import require_openvino
from citeforge.schemas.errors import UsageError


def load_model(settings: NliSettings) -> NliModel:
    """Load a judge model with the class of its profile's architecture.

    Raises:
        InputError: the folder does not hold such a model, or OpenVINO cannot convert it.
        UsageError: OpenVINO is asked for what it does not compute here.
    """
    transformers = quiet_transformers()
    architecture = settings.profile.architecture
    if settings.runtime == "openvino":
        if architecture != "classifier":
            raise UsageError(
                f"--runtime openvino runs classifiers, not {architecture} models",
                code="conflicting-options",
            )
        require_openvino(settings.device, "--runtime openvino")
    with loading_errors(
        f"is not an NLI model that can be loaded with the profile {settings.profile.name}",
        settings.folder,
        f"a model of the architecture {architecture}, or another --judge-profile",
    ):
        config = transformers.AutoConfig.from_pretrained(
            settings.config_folder, local_files_only=True
        )
        return ARCHITECTURES[architecture](settings, config)


def _choose_dtype(settings: NliSettings) -> str:
    """Choose the numeric type of a model: that of the settings, else bfloat16 on a GPU."""
    import torch

    half = settings.device.startswith("cuda") and torch.cuda.is_bf16_supported()
    return settings.dtype or ("bfloat16" if half else "float32")


class Seq2SeqModel(NliModel):
    """Encoder-decoder that answers with a token (TRUE: Honovich et al. 2022; MiniCheck-Flan-T5).

    One decoder step is enough. Where nothing is declared to be "unsupported", greedy decoding says
    "supported" exactly when that is the likeliest first token, and the margin is its logit minus
    the best other one. Else the margin is its probability among the verdicts minus the threshold.
    """

    takes_letters = True

    def __init__(self, settings: NliSettings, config: Any) -> None:
        """Load an encoder-decoder judge model, and find the tokens that begin its verdict words.

        Args:
            settings: folder, device and profile of the model.
            config: configuration of transformers, with the token that answers begin with.
        """
        from transformers import AutoModelForSeq2SeqLM

        model = AutoModelForSeq2SeqLM.from_pretrained(settings.folder, local_files_only=True)
        super().__init__(settings, model, _choose_dtype(settings))
        self._start = config.decoder_start_token_id
        p = self.profile
        self._yes, self._no = verdict_indices(p.supported, p.unsupported, self._first_token)

    def _first_token(self, text: object) -> list[int]:
        """Get the id of the first token of a verdict word, as a list of one."""
        ids = self.tokenizer(str(text), add_special_tokens=False).input_ids
        if not ids or (not self.profile.unsupported and len(ids) != 1):
            raise ValueError(f'"{text}" is {len(ids)} tokens of this model')
        if ids[0] == self.tokenizer.unk_token_id:
            raise ValueError(f'"{text}" is no token of this model')
        return [int(ids[0])]

    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        """Compute each pair's margin (above 0: supported) from the first answer token's logits.

        Args:
            ids: token ids, of shape (pairs, tokens).
            mask: 1 for each token, 0 for padding.
            types: ignored: this model has no segments.
        """
        import torch

        start = torch.full((len(ids), 1), self._start, device=ids.device)
        output = self.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False
        )
        logits = at_least_float32(output.logits[:, 0])
        if self._no:
            return self._margins_among(logits)
        one = logits[:, self._yes].max(dim=1).values
        logits[:, self._yes] = -torch.inf
        margins: list[float] = (one - logits.max(dim=1).values).tolist()
        return margins


class ClassifierModel(NliModel):
    """Sequence classifier of a text pair, or of one text, in float32 or float64."""

    def __init__(self, settings: NliSettings, config: Any) -> None:
        """Load an NLI classifier, and find its labels that mean support.

        Args:
            settings: folder, device, runtime and profile of the model.
            config: configuration of transformers, with the names of labels.
        """
        labels = read_labels(config)
        self._labels = [i for one in settings.profile.supported for i in label_indices(labels, one)]
        if not self._labels:
            raise ValueError(
                f"no label is {' or '.join(map(repr, settings.profile.supported))}; "
                f"{describe_labels(labels)}"
            )
        self._positions = getattr(config, "max_position_embeddings", None)
        dtype = "float64" if settings.dtype == "float64" else "float32"
        super().__init__(settings, self._load(settings, config), dtype)
        if settings.runtime == "openvino":
            # Two pairs of different lengths.
            texts = ["one premise", "another one"], ["a text", "a longer second text"]
            example = self.tokenizer(*texts, padding=True, return_tensors="pt")
            self.model = openvino.compile_module(settings.folder, self.model, example)
            self.engine = openvino.engine_version()

    def _load(self, settings: NliSettings, config: Any) -> Any:
        """Load the classifier from its folder."""
        from transformers import AutoModelForSequenceClassification

        return AutoModelForSequenceClassification.from_pretrained(
            settings.folder, local_files_only=True
        )

    def _input_limit(self) -> int:
        """Get the classifier's input limit in tokens: the least of config, tokenizer, default."""
        limits = [super()._input_limit(), self.tokenizer.model_max_length]
        if self._positions:
            limits.append(self._positions)
        return int(min(limits))

    def _texts(self, pairs: Sequence[Pair]) -> tuple[list[str], ...]:
        """Make the tokenizer's arguments: the pairs' prompts, or their premises and hypotheses."""
        if self.profile.prompt is not None:
            return super()._texts(pairs)
        return [p.premise for p in pairs], [p.hypothesis for p in pairs]

    def _cut(self, pair: Pair, n_tokens: int) -> Encoded:
        """Encode a pair of ``n_tokens``, too many: cut the premise first, then the hypothesis.

        Args:
            pair: the pair.
            n_tokens: number of its tokens.
        """
        if self.profile.prompt is not None:
            return super()._cut(pair, n_tokens)
        alone = len(self.tokenizer(pair.hypothesis, verbose=False).input_ids)
        # A hypothesis that fills the input by itself has to be cut as well.
        how = "only_first" if alone + 8 < self.limit else "longest_first"
        encoded = self.tokenizer(
            pair.premise, pair.hypothesis, truncation=how, max_length=self.limit, verbose=False
        )
        return Encoded(encoded.input_ids, encoded.get("token_type_ids"), True)

    def _logits(self, ids: Any, mask: Any, types: Any) -> Any:
        """Compute the logits of all labels, one row per encoded pair."""
        extra = {} if types is None else {"token_type_ids": types}
        logits = self.model(input_ids=ids, attention_mask=mask, **extra).logits
        return at_least_float32(logits)

    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        """Compute by how much each pair's probability of support is above the threshold."""
        return self._margins_above(self._logits(ids, mask, types).softmax(dim=1)[:, self._labels])


def label_indices(labels: dict[int, str], label: object) -> list[int]:
    """Find the output indices of a label, which is an index or a name in ``id2label``."""
    if isinstance(label, int):
        return [label] if label in labels else []
    return [i for i, name in labels.items() if _fold_label(name) == _fold_label(str(label))]


def _fold_label(name: str) -> str:
    """Fold case, hyphens, underscores and white space of a label's name."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def read_labels(config: Any) -> dict[int, str]:
    """Read the names of a classifier's outputs from its configuration (``id2label``)."""
    return {int(i): str(name) for i, name in (config.id2label or {}).items()}


def describe_labels(labels: dict[int, str]) -> str:
    """Describe a classifier's labels, and how a judge profile says which of them means support."""
    listed = ", ".join(f"{i} {name}" for i, name in labels.items())
    example = next(iter(labels), 0)
    return (
        f"labels: {listed or 'none'}; say which of them means support in a --judge-profile "
        f"FILE.yaml, such as {{name: mine, architecture: classifier, supported: [{example}]}}"
    )


class TokenClassifierModel(ClassifierModel):
    """HHEM-2.1-open: a T5 encoder that labels tokens; the first token's label is the verdict.

    Its repository holds weights under the prefix ``t5.``, and names the model that it was made of.
    """

    def _input_limit(self) -> int:
        """Get the default input limit in tokens, since T5's relative positions set none."""
        # T5 has relative positions; the model card sets no limit.
        return NliModel._input_limit(self)

    def _load(self, settings: NliSettings, config: Any) -> Any:
        """Build the token classifier from its configuration, and load its weights."""
        from transformers import AutoModelForTokenClassification

        model = AutoModelForTokenClassification.from_config(config)  # type: ignore[no-untyped-call]
        weights = _read_weights(settings)
        own = {k.removeprefix("t5."): v for k, v in weights.items()}
        missing = model.load_state_dict(own, strict=False).missing_keys
        # The embedding of the encoder is the shared one under another name.
        if lost := [k for k in missing if not k.endswith("embed_tokens.weight")]:
            raise ValueError(f"the weights do not contain {lost[0]}")
        return model

    def _logits(self, ids: Any, mask: Any, types: Any) -> Any:
        """Compute the logits of the labels of each input's first token."""
        return super()._logits(ids, mask, types)[:, 0]


class ThreeHeadsModel(ClassifierModel):
    """AlignScore: RoBERTa with its pooler and a head of three classes (Zha et al. 2023)."""

    def __init__(self, settings: NliSettings, config: Any) -> None:
        """Load AlignScore's model; name its classes aligned, neutral and contradicted."""
        config.id2label = {0: "aligned", 1: "neutral", 2: "contradicted"}
        super().__init__(settings, config)

    def _load(self, settings: NliSettings, config: Any) -> Any:
        """Build RoBERTa with a head of three classes, and load its weights."""
        import torch
        from transformers import AutoModel

        class Network(torch.nn.Module):
            """RoBERTa and a linear layer over its pooled output."""

            def __init__(self) -> None:
                """Make the RoBERTa encoder, and a linear layer from its output to 3 classes."""
                super().__init__()
                self.base_model = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
                self.tri_layer = torch.nn.Linear(config.hidden_size, 3)

            def forward(self, **features: Any) -> Any:
                """Compute 3 logits per input; return an object with the attribute ``logits``."""
                return SimpleNamespace(
                    logits=self.tri_layer(self.base_model(**features).pooler_output)
                )

        network = Network()
        weights = _read_weights(settings)
        state = network.state_dict()
        network.load_state_dict({k: v for k, v in weights.items() if k in state})
        return network


def _read_weights(settings: NliSettings) -> dict[str, Any]:
    """Read a model's weights from its file, as tensors by name; code in the file is not run."""
    name = settings.profile.weights
    files = [settings.folder / name] if name else sorted(settings.folder.glob("*.safetensors"))
    path = next((f for f in files if f.is_file()), None)
    if path is None:
        raise ValueError(f"it contains no {name or 'model.safetensors'}")
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(path))
    return _read_checkpoint(path)


def _read_checkpoint(path: Path) -> dict[str, Any]:
    """Load the tensors of a checkpoint file by name; code in the file is not run."""
    import pickle

    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path.name} contains more than tensors, and would run code of its own; keep its "
            "state_dict alone, as .safetensors"
        ) from error
    return dict(state.get("state_dict", state))


class CausalJudge(NliModel):
    """Chat model whose next token is the verdict (Bespoke-MiniCheck, Granite Guardian).

    Every token that spells a verdict counts, whatever its case and the space before it. Where
    nothing is "unsupported", the margin is the probability of "supported" among all tokens minus
    the threshold, else among the verdicts.
    """

    pads_left = True

    def __init__(self, settings: NliSettings, config: Any) -> None:
        """Load a chat model as judge, and find all its tokens that spell a verdict.

        Args:
            settings: folder, device and profile of the model.
            config: configuration of transformers; not used.
        """
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(settings.folder, local_files_only=True)
        super().__init__(settings, model, _choose_dtype(settings))
        spelt: dict[str, list[int]] = {}
        for token in range(len(self.tokenizer)):
            spelt.setdefault(self.tokenizer.decode([token]).strip().lower(), []).append(token)
        p = self.profile
        self._yes, self._no = verdict_indices(
            p.supported, p.unsupported, lambda word: spelt.get(str(word).lower(), [])
        )
        if not self._yes or bool(p.unsupported) != bool(self._no):
            words = ", ".join(map(repr, (*p.supported, *p.unsupported)))
            raise ValueError(f"one of {words} is no single token of this model")

    def prompt(self, premise: str, hypothesis: str) -> str:
        """Write the chat that asks the model about a pair, in its own chat template."""
        turns = [
            {"role": role, "content": text}
            for role, text in fill_messages(self.profile, premise, hypothesis)
        ]
        text: str = self.tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, **self.profile.template
        )
        return text

    def _input_limit(self) -> int:
        """Get the chat model's input limit in tokens: its number of positions, else the default."""
        own = getattr(self.model.config, "max_position_embeddings", None)
        return int(own or super()._input_limit())

    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        """Compute each pair's margin (above 0: supported) from the next token's probabilities.

        Args:
            ids: token ids, of shape (pairs, tokens).
            mask: 1 for each token, 0 for padding.
            types: ignored: this model has no segments.
        """
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        output = self.model(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False,
            logits_to_keep=1,
        )  # fmt: skip
        logits = at_least_float32(output.logits[:, -1])
        if self._no:
            return self._margins_among(logits)
        return self._margins_above(logits.softmax(dim=1)[:, self._yes])


ARCHITECTURES: dict[str, Callable[[NliSettings, Any], NliModel]] = {
    "seq2seq": Seq2SeqModel,
    "classifier": ClassifierModel,
    "token-classifier": TokenClassifierModel,
    "three-heads": ThreeHeadsModel,
    "causal": CausalJudge,
}
