"""Judges that are local Hugging Face models, run as their profiles say."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from citeforge.engines.judge.architectures import (
    describe_labels,
    label_indices,
    load_model,
    read_labels,
)
from citeforge.engines.judge.chunks import PairParts
from citeforge.engines.judge.nli_models import NliModel, NliSettings
from citeforge.engines.judge.profiles import (
    PLAIN,
    built_in_profiles,
    named_profile,
    profile_of_model,
    profile_version,
)
from citeforge.engines.judge.records import (
    CLOSE_CALL,
    FINER,
    Decision,
    JudgeFailure,
    Keep,
    Pair,
    Verdict,
)
from citeforge.engines.model_files import Located, find_model, loading_errors, model_title
from citeforge.engines.models.compute import resolve_device
from citeforge.engines.parallel import one_thread_each
from citeforge.engines.plugins import warn
from citeforge.engines.posix import total_memory
from citeforge.schemas.errors import InputError
from citeforge.schemas.judge_profile import JudgeProfile
from citeforge.schemas.recipes.base import Judging, RunOptions

_INSTEAD = "--judge lexical"


class HfJudge:
    """Judge by a local model: float32 on CPU, bfloat16 for T5 and chat models on GPU.

    Pairs are sorted by length, padded to fixed buckets and cut into batches at fixed rows; each
    batch is computed on one thread. A verdict whose margin is small enough to depend on its batch
    is asked again, alone and in float32.
    """

    def __init__(
        self,
        name: str,
        judging: Judging | None = None,
        run: RunOptions | None = None,
        dtype: str | None = None,
    ) -> None:
        """Set up a local model as judge, by judge options and run options; it loads on first use.

        Args:
            name: repository of the Hub, or folder.
            judging: revision, profile, threshold, longest input and runtime of the model.
            run: device, and pairs a batch (default: 32 on a GPU and 8 elsewhere, for larger batches
                leave a CPU's caches); a batch is halved when memory runs out.
            dtype: ``bfloat16``, ``float32`` or ``float64``; None for bfloat16 of a T5 on a GPU that
                has it, else float32.
        """
        self.name, self.dtype = name, dtype
        self.judging, self.run = judging or Judging(), run or RunOptions()
        profile = self.judging.judge_profile
        self._given = named_profile(profile) if profile is not None else profile_of_model(name)

    @property
    def comparable(self) -> bool:
        """Whether the model runs exactly by its built-in profile, which makes scores comparable."""
        declared = profile_of_model(self.name)
        is_plain = self.judging.threshold is None and self.judging.max_tokens is None
        same = declared is not None and self.profile == declared and is_plain
        return same and bool(self.profile.comparable_with)

    @cached_property
    def profile(self) -> JudgeProfile:
        """Profile that defines prompt and verdicts: the user's, built-in, or of plain NLI models.

        Raises:
            InputError: none is given, and none is declared for such a model.
        """
        return self._given or self._default_profile()

    def _default_profile(self) -> JudgeProfile:
        """Get the profile of plain NLI classifiers; raise an error if the model is not one."""
        from transformers import AutoConfig

        mnli = built_in_profiles()[PLAIN]
        allowed = "a model with a judge profile, or a classifier with an entailment label"
        with loading_errors("is not an NLI model that can be loaded", self.name, allowed):
            config = AutoConfig.from_pretrained(self._located.folder, local_files_only=True)
        labels = read_labels(config)
        classifies = any("SequenceClassification" in a for a in config.architectures or ())
        if classifies and any(label_indices(labels, one) for one in mnli.supported):
            return mnli
        more = f"; {describe_labels(labels)}" if classifies else ""
        raise InputError(
            f"has no judge profile, which defines its prompt and its answers{more}",
            path=self.name,
            allowed=f"--judge-profile FILE.yaml or one of {', '.join(built_in_profiles())}",
            code="missing-option",
        )

    @cached_property
    def _located(self) -> Located:
        """Find the files of the judge's model."""
        weights = None if self._given is None else self._given.weights
        return find_model(self.name, self.judging.revision, _INSTEAD, weights)

    @cached_property
    def _foundation(self) -> Located | None:
        """Find the base model that lends its tokenizer and configuration; None if it needs none."""
        name = self.profile.foundation
        return None if name is None else find_model(name, None, _INSTEAD, weights_file="")

    @cached_property
    def _model(self) -> NliModel:
        """The judge's model, which is loaded when it is first needed."""
        own, foundation = self.judging, self._foundation
        return load_model(NliSettings(
            self._located.folder, resolve_device(self.run.device), self.profile,
            self.profile.threshold if own.threshold is None else own.threshold, own.max_tokens,
            None if foundation is None else foundation.folder, self.dtype, own.runtime,
        ))  # fmt: skip

    @cached_property
    def _finer(self) -> "HfJudge":
        """The same judge in a finer numeric format, for verdicts that are too close to call.

        Float64 runs on the CPU, which every machine has.
        """
        dtype = FINER[self._model.dtype]
        judging = self.judging.model_copy(update={"runtime": "torch"})
        device = "cpu" if dtype == "float64" else self.run.device
        return HfJudge(self.name, judging, self.run.model_copy(update={"device": device}), dtype)

    @property
    def signature(self) -> str:
        """Name, revision and profile of the model, for score signatures (settings of a score)."""
        name = model_title(self.name)
        revision = next(iter(self._located.identity.values()))
        return f"hf:{name}@{revision[:12]}+{profile_version(self.profile)}"

    def identity(self) -> dict[str, Any]:
        """Describe everything that a verdict depends on besides the pair."""
        model = self._model
        return {
            "name": model_title(self.name),
            **self._located.identity,
            "prompt": profile_version(self.profile),
            "dtype": model.dtype,
            "max_tokens": model.limit,
            "close_calls": "float64",
            **({"threshold": model.settings.threshold} if self._has_threshold else {}),
            **({} if self._foundation is None else {"foundation": self._foundation.identity}),
            **({} if model.engine is None else {"engine": model.engine}),
        }

    @property
    def _has_threshold(self) -> bool:
        """Whether the profile's verdicts depend on a threshold."""
        return self.profile.architecture != "seq2seq" or bool(self.profile.unsupported)

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Count the tokens of the model's inputs for some pairs."""
        parts = [one for pair in pairs for row in self._model.parts(pair) for one in row]
        return sum(len(e.ids) for e in self._model.encode(parts))

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Judge pairs, close calls again in a finer numeric format; pass decisions to ``keep``.

        Args:
            pairs: premises and hypotheses.
            keep: takes decisions as they come, each with the index of its pair.
        """
        on_gpu = self._model.settings.device.startswith("cuda")
        size = self.run.batch_size or (32 if on_gpu else 8)
        dtype = self._model.dtype
        close = self._decide(pairs, size, CLOSE_CALL[dtype], keep)
        again = [pairs[i] for i in close]

        def keep_close(decisions: Sequence[tuple[int, Decision]]) -> None:
            """Pass decisions on close calls to ``keep``, with their pairs' original indices."""
            keep([(close[at], decision) for at, decision in decisions])

        if again and not self._has_room():
            warn(
                f"{len(again)} verdicts of {model_title(self.name)} are near its border, and "
                "float64, which would decide them, needs more memory than there is; they stand by "
                f"{dtype}"
            )
            self._decide(again, 1, 0.0, keep_close)
        elif again:
            self._finer.decide(again, keep_close)

    def _has_room(self) -> bool:
        """Whether this machine's memory is enough for the model in the next finer format."""
        memory = total_memory()
        if self._model.dtype != "float32" or memory is None:
            return True
        needed: int = 10 * sum(p.numel() for p in self._model.model.parameters())
        return needed < memory

    def _decide(
        self, pairs: Sequence[Pair], batch_size: int, min_margin: float, keep: Keep
    ) -> list[int]:
        """Judge pairs in batches of ``batch_size`` parts; return the indices of close calls.

        Args:
            pairs: premises and hypotheses.
            batch_size: number of parts in a batch; a part is a sentence of a hypothesis with a
                chunk of a premise.
            min_margin: margin below which a verdict is too close to call.
            keep: takes all other decisions, each with the index of its pair.

        Returns:
            Indices of the pairs that are too close to call.
        """
        mean = self.profile.sentences == "mean"
        whole = PairParts([self._model.parts(p) for p in pairs], mean)
        encoded = self._model.encode(whole.parts)
        # The longest first, so that memory runs out at the start or not at all.
        order = sorted(range(len(encoded)), key=lambda i: (-len(encoded[i].ids), whole.parts[i]))
        batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        close: list[int] = []

        def compute_margins(rows: list[int]) -> list[float | None]:
            """Compute margins of encoded pairs, given by index; None for one beyond the memory."""
            return self._model.margins([encoded[i] for i in rows])

        margins_of = one_thread_each(compute_margins, batches, self._model.settings.device)
        for rows, margins in zip(batches, margins_of, strict=True):
            decided = []
            for row, margin in zip(rows, margins, strict=True):
                part: Decision = JudgeFailure("out of memory on this pair alone")
                if margin is not None:
                    part = Verdict(margin > 0, margin, encoded[row].truncated)
                for i, decision in whole.add(whole.parts[row], part):
                    if isinstance(decision, Verdict) and abs(decision.margin or 0.0) < min_margin:
                        close.append(i)
                    else:
                        decided.append((i, decision))
            if decided:
                keep(decided)
        return close
