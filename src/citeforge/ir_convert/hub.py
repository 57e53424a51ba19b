"""Read data sets of the Hugging Face Hub, or local copies, through ``datasets``.

In BEIR's and RAGE's layouts, or passages alone. Errors say what to do offline.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.engines.files import digest, digest_folder
from citeforge.engines.model_files import error_reason, http_errors
from citeforge.engines.tables import rows_with
from citeforge.ir_convert.columns import read_columns
from citeforge.ir_convert.source import (
    Location,
    ReadOptions,
    RowChecks,
    Source,
    without_queries,
)
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS, GOLD, LABELS, MAPPING, QUERIES, RELEVANT, UNSURE

_BATCH = 4096
_OF_LANGUAGE = re.compile(r"(?P<lang>.+)[-_]corpus|corpus[-_](?P<other>.+)")
_MOST_CONFIGS = 30
"""Most names of configs in an error."""


def split_revision(argument: str) -> tuple[str, str | None]:
    """Split ``name@revision`` into name and revision; the latter is None if there is none."""
    name, _, revision = argument.partition("@")
    return name, revision or None


def download(repo: str, filename: str, revision: str | None) -> tuple[Path, str]:
    """Download a file of a Hub data set, or find it in the cache: (local path, commit hash).

    Returns:
        (local path, commit of the file).

    Raises:
        InputError: unknown repository or file, or no network.
    """
    from huggingface_hub import hf_hub_download

    try:
        path = Path(hf_hub_download(repo, filename, repo_type="dataset", revision=revision))
    except (OSError, ValueError, *http_errors()) as error:  # type: ignore[misc]
        raise unreachable(repo, error) from error
    # The cache lays files out as snapshots/<commit>/<filename>.
    return path, path.parents[len(Path(filename).parts) - 1].name


@dataclass(frozen=True)
class Repository:
    """A data set on the Hub, or a local folder of the same layout.

    Attributes:
        name: ``ORG/NAME``, or the path of the folder.
        revision: revision on the Hub; None for the newest.
        content: SHA-256 of a local folder's files; None on the Hub, where a commit identifies it.
        language: language in the names of its configs (``hi-corpus``, ``corpus-hi``); None if they
            have none.
    """

    name: str
    revision: str | None = None
    content: str | None = None
    language: str | None = None

    @classmethod
    def parse(cls, argument: str, suffix: str = "") -> "Repository":
        """Parse ``NAME[@revision][#LANGUAGE]``, add a suffix to the name; hash a local folder.

        Args:
            argument: name of the repository, or path of the folder.
            suffix: suffix that is added to the name.
        """
        has_language = "#" in argument and not Path(argument).exists()
        rest, _, language = argument.rpartition("#") if has_language else (argument, "", "")
        name, revision = split_revision(rest)
        folder = Path(f"{name}{suffix}")
        content = digest_folder(folder) if folder.is_dir() else None
        return cls(f"{name}{suffix}", revision, content, language or None)

    def config(self, name: str) -> Any:
        """Load the splits of a config; with a language, of the config of that language.

        Returns:
            A ``datasets.DatasetDict``, split to table; None if the data set has no such config.

        Raises:
            InputError: the repository cannot be read.
        """
        if self.language is None:
            return self._load(name)
        pair = (self.language, name)
        names = [mark.join(both) for mark in "-_" for both in (pair, pair[::-1])]
        names += [self.language] if name == "default" else []
        return next(filter(None, map(self._load, names)), None)

    def missing_error(self, *configs: str) -> InputError:
        """Make the error for a data set without a needed config; it lists the existing configs."""
        import datasets

        try:
            names = sorted(datasets.get_dataset_config_names(self.name, revision=self.revision))
        except Exception:  # errors of `datasets` about repositories have no common type
            names = []
        found = {m["lang"] or m["other"] for n in names if (m := _OF_LANGUAGE.fullmatch(n))}
        languages = sorted(found - {self.language})
        listed = ", ".join(names[:_MOST_CONFIGS]) + (", …" if len(names) > _MOST_CONFIGS else "")
        suffix = "" if self.language is None else f" of the language {self.language!r}"
        allowed = f"its configs: {listed or 'none'}"
        if languages:
            allowed += f"; name a language: {self.name}#{languages[0]}"
        return InputError(
            f"is missing{suffix}", path=self.name,
            field=f"config {' or '.join(configs)}", allowed=allowed, code="missing-field"
        )  # fmt: skip

    def _load(self, name: str) -> Any:
        """Load the config of exactly this name (``DatasetDict``); None if there is none."""
        import datasets
        import yaml

        cache = None
        if self.content:
            # `datasets` caches a folder by its last name and its card, not by its files.
            cache = str(Path(datasets.config.HF_DATASETS_CACHE) / "citeforge" / self.content)
        try:
            return datasets.load_dataset(self.name, name, revision=self.revision, cache_dir=cache)
        except ValueError as error:
            if "BuilderConfig" in str(error) or "corresponds to no data" in str(error):
                return None
            raise unreachable(self.name, error) from error
        except (
            OSError,
            datasets.exceptions.DatasetsError,
            RuntimeError,
            yaml.YAMLError,
            pa.ArrowException,
            # Raised for cards whose declarations have wrong types, which `datasets` does not check.
            AttributeError,
            KeyError,
            TypeError,
            *http_errors(),
        ) as error:
            raise unreachable(self.name, error) from error

    def commit(self) -> str | None:
        """Ask the Hub for the commit hash of the data set; None for a local folder.

        Raises:
            InputError: the Hub cannot be reached.
        """
        if self.content:
            return None
        from huggingface_hub import HfApi

        try:
            return HfApi().dataset_info(self.name, revision=self.revision).sha
        except (OSError, ValueError, *http_errors()) as error:  # type: ignore[misc]
            raise unreachable(self.name, error) from error


def unreachable(repo: str, error: Exception) -> InputError:
    """Make the error for a repository or folder that could not be read, with advice."""
    reason = error_reason(error)
    if Path(repo).is_dir():
        return InputError(
            f"cannot be read as a data set ({reason})",
            path=repo,
            allowed="Parquet or JSON Lines files, and a README.md that declares them",
            code="hub-failed",
        )
    return InputError(
        f"cannot be read from the Hub ({reason})",
        path=repo,
        allowed="check the name and the network, or name a local copy (beir:, hagrid:, rage:)",
        code="hub-failed",
    )


def open_beir_hub(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``beir-hub:REPO[@revision]``; the judgements are in the data set ``REPO-qrels``.

    Args:
        argument: name of the data set, or a folder.
        split: split of the judgements; None for ``test``.
        options: permissions, and whether only passages are read.

    Raises:
        InputError: a data set cannot be read, or has no judgements.
        UnknownValueError: no such split; it is ``test`` if none is named.
    """
    if options.passages_only:
        return open_corpus_hub("beir-hub", argument, split, options)
    repo = Repository.parse(argument)
    judged = replace(Repository.parse(argument, "-qrels"), revision=None)
    return _open_judged("beir-hub", argument, split, options, repo, judged, ("default",))


def open_mteb(argument: str, split: str | None, options: ReadOptions) -> "HubSource":
    """Open ``mteb:REPO[@revision][#LANGUAGE]``, or a folder; the judgements are a config of it.

    With a language, such as ``mteb:REPO#hi``, this is ``hi-qrels`` or ``qrels-hi``.

    Args:
        argument: name of the data set, or a folder.
        split: split of the judgements; None for ``test``.
        options: permissions, and whether only passages are read.

    Raises:
        InputError: the data set cannot be read, or has no judgements.
        UnknownValueError: no such split; it is ``test`` if none is named.
    """
    if options.passages_only:
        return open_corpus_hub("mteb", argument, split, options)
    repo = Repository.parse(argument)
    return _open_judged("mteb", argument, split, options, repo, repo, ("default", "qrels"))


def _open_judged(
    kind: str,
    argument: str,
    split: str | None,
    options: ReadOptions,
    repo: Repository,
    judgement_repo: Repository,
    configs: Sequence[str],
) -> "HubSource":
    """Open the corpus of ``repo``, and a split's judgements from the first config that exists.

    Args:
        kind: name of the source.
        argument: what follows its colon.
        split: split of the judgements; None for ``test``.
        options: permissions.
        repo: data set with passages and queries.
        judgement_repo: data set with judgements.
        configs: configs of it that may have the judgements, tried in order.
    """
    split = split or "test"
    splits: Any = next(filter(None, map(judgement_repo.config, configs)), None)
    if splits is None:
        raise judgement_repo.missing_error(*configs)
    if split not in splits:
        raise UnknownValueError(f"--split of {judgement_repo.name}", split, splits)
    info = _make_info(kind, argument, split, *dict.fromkeys((repo, judgement_repo)))
    return HubSource(repo, {RELEVANT: splits[split]}, info, options, judgement_repo)


def open_corpus_hub(
    kind: str, argument: str, split: str | None, options: ReadOptions
) -> "HubSource":
    """Open ``corpus-hub:REPO[@revision]``, or a folder, as a source of passages alone.

    Args:
        kind: name of the source, which may be that of one with judgements.
        argument: name of the data set, or a folder.
        split: name recorded in the provenance.
        options: permissions.
    """
    repo = Repository.parse(argument)
    options = replace(options, passages_only=True)
    return HubSource(repo, {}, _make_info(kind, argument, split, repo), options)


def open_rage(kind: str, argument: str, options: ReadOptions) -> "HubSource":
    """Open ``rage:PATH`` or ``rage-hub:REPO[@revision]``: a data set in RAGE's layout.

    Args:
        kind: ``rage`` or ``rage-hub``.
        argument: folder, or name of the data set.
        options: permissions, and whether only passages are read.
    """
    repo = Repository.parse(argument)
    splits = {} if options.passages_only else repo.config("mapping") or {}
    if not options.passages_only and RELEVANT not in splits:
        raise InputError(
            "has no mapping of relevant passages", path=repo.name, code="missing-field"
        )
    mappings = {name: splits[name] for name in (*LABELS, UNSURE) if name in splits}
    return HubSource(repo, mappings, _make_info(kind, argument, None, repo), options)


def _make_info(kind: str, argument: str, split: str | None, *repos: Repository) -> SourceInfo:
    """Make the provenance of a source from its repositories: commit, hashes of local folders.

    Args:
        kind: name of the source.
        argument: what follows its colon.
        split: split of the judgements.
        repos: data sets that it reads; the commit is that of the first.
    """
    info = SourceInfo(spec=f"{kind}:{argument}", kind=kind, split=split)
    info.revision = repos[0].commit()
    info.files = {Path(r.name).resolve().name: r.content for r in repos if r.content}
    return info


class HubSource(Source):
    """Queries, judgements and passages of a data set, read through ``datasets``.

    Its tables are Arrow files of the cache of ``datasets``, mapped into memory.
    """

    def __init__(
        self,
        repo: Repository,
        pairs_by_label: dict[str, Any],
        info: SourceInfo,
        options: ReadOptions,
        judgement_repo: Repository | None = None,
    ) -> None:
        """Load a Hub data set's corpus and queries, and its (query, passage) pairs by label.

        Args:
            repo: the data set.
            pairs_by_label: label (``relevant``, …) to the split with its (query, passage) pairs.
            info: provenance.
            options: permissions.
            judgement_repo: data set of the judgements, if that is another one.
        """
        super().__init__(info, options)
        self.repo = repo
        self._mined: dict[str, pa.Table] = {}
        for label, split in pairs_by_label.items():
            (self._mined[label],) = read_columns(
                [split.with_format("arrow")[:]], MAPPING, (judgement_repo or repo).name,
                options.extra_fields, info.counts, f"{label.replace('_', ' ')} pairs",
            )  # fmt: skip
        self._relevant = self._mined.pop(RELEVANT, MAPPING.empty_table())
        self._unsure = self._mined.pop(UNSURE, MAPPING.empty_table())
        self._corpus = self._load_split("corpus")
        self._queries = None if options.passages_only else self._load_split("queries")

    def _load_split(self, config: str) -> Any:
        """Load a config (``datasets.Dataset``): its split of the same name, else its first."""
        splits = self.repo.config(config)
        if not splits and self.options.passages_only:
            splits = self.repo.config("default")
        if not splits:
            raise self.repo.missing_error(config)
        return splits.get(config) or next(iter(splits.values()))

    def info(self) -> SourceInfo:
        """Return the provenance, with hashes of the tables."""
        if not self.provenance.files:
            # The fingerprints of `datasets` depend on commit, config and split.
            for name, data in (("corpus", self._corpus), ("queries", self._queries)):
                if data is not None:
                    self.provenance.files[name] = digest([data._fingerprint, data.num_rows])
        return self.provenance

    def read_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the unchecked rows of the corpus in batches of schema CORPUS."""
        tables = self._corpus.with_format("arrow").iter(_BATCH)
        for table in self._convert(tables, CORPUS, "passages"):
            yield from table.to_batches()

    def locate_row(self, number: int) -> Location:
        """Return the data set and the number from 1 of a row of corpus or queries."""
        return Location(self.repo.name, number + 1)

    def field_name(self, name: str, noun: str) -> str:
        """Name a field of passages or queries with its config, such as ``corpus._id``."""
        return f"{'corpus' if noun == 'passages' else noun}.{name}"

    def _convert(
        self, tables: Iterable[pa.Table], schema: pa.Schema, rows_noun: str
    ) -> Iterator[pa.Table]:
        """Convert tables of the data set to a schema, and count their further columns.

        Args:
            tables: tables of one config.
            schema: schema that they are converted to.
            rows_noun: plural noun for the rows, in counts.
        """
        return read_columns(
            tables,
            schema,
            self.repo.name,
            self.options.extra_fields,
            self.provenance.counts,
            rows_noun,
        )

    def _read_rows(self, split: Any, schema: pa.Schema, rows_noun: str) -> pa.Table:
        """Read a split (``datasets.Dataset``) as a table of a schema; count its further columns.

        Args:
            split: split of a config.
            schema: schema of the table.
            rows_noun: plural noun for the rows, in counts.
        """
        (table,) = self._convert([split.with_format("arrow")[:]], schema, rows_noun)
        return table

    def queries(self) -> pa.Table:
        """Return the queries that have a judgement."""
        judged = self._relevant["query-id"].unique()
        if self._queries is None:
            raise without_queries(self.provenance.spec)
        table = self._check_queries(self._read_rows(self._queries, QUERIES, "queries"))
        missing = pc.filter(judged, pc.invert(pc.is_in(judged, value_set=table["_id"])))
        if len(missing) and not self.options.skip_dangling:
            raise InputError(
                f"judgements name the query {missing[0].as_py()!r}, which is missing",
                path=self.repo.name,
                allowed="another revision, or pass --skip-dangling",
                code="unknown-query",
            )
        if len(missing):
            self.provenance.counts["judgements_of_unknown_queries"] = len(missing)
        return rows_with(table, "_id", judged)

    def _check_queries(self, table: pa.Table) -> pa.Table:
        """Return queries without repeated and empty ones; count these, or raise an error."""
        checks, batches, checked = RowChecks(self, "queries"), table.to_batches(), []
        for batch in batches:
            if checks.has_repeats(batch):
                checks.find_repeats(batches, batches)
            checked.append(checks.clean(batch))
        self.provenance.counts.update(checks.counts)
        return pa.Table.from_batches(checked, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the judgements above zero, and count the others."""
        scores = self._relevant["score"]
        relevant = self._relevant.filter(pc.greater(pc.fill_null(scores, 1.0), 0))
        if relevant.num_rows < self._relevant.num_rows:
            dropped = self._relevant.num_rows - relevant.num_rows
            self.provenance.counts["judgements_of_zero_or_less"] = dropped
        return relevant

    def gold(self) -> pa.Table:
        """Return the gold answers from the config ``gold``; an empty table if there is none."""
        splits = self.repo.config("gold")
        if not splits:
            return super().gold()
        return self._read_rows(next(iter(splits.values())), GOLD, "gold rows")

    def mined(self) -> dict[str, pa.Table]:
        """Return the mined negatives of a RAGE package (its table ``mapping``), by label."""
        return self._mined

    def unsure(self) -> pa.Table:
        """Return the passages of a RAGE package that may be relevant (its mapping ``unsure``)."""
        return self._unsure

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return (name of the data set, None) as the source of a judgement; lines are unknown."""
        return self.repo.name, None
