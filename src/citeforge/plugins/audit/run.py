"""``audit``: all checks of one package, estimates from labels, and the file of accepted flaws."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from citeforge.builders.card import exploits_table
from citeforge.builders.derive import Base, mapped_negatives
from citeforge.builders.rage.suspects import NEAR, find_suspects
from citeforge.engines.files import require_writable, write_bytes
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.model_files import model_title
from citeforge.engines.report_table import Displayed, Table
from citeforge.engines.running.setup import judge_session, replay_store, run_embedder
from citeforge.library.benchmarks import writable_folder
from citeforge.package.package import Package
from citeforge.plugins.audit import flaws
from citeforge.plugins.audit.cascade import decide_suspects, estimate_share, sum_up_decisions
from citeforge.plugins.audit.exploits import CHECK as EXPLOITS
from citeforge.plugins.audit.exploits import describe_exploits, try_exploits
from citeforge.plugins.audit.options import AuditOptions
from citeforge.publishing.card import write_card
from citeforge.schemas.audit import SKIPPED_CHECK, Audit, Flaw, checks_made
from citeforge.schemas.errors import UsageError, extras_named
from citeforge.schemas.recipes.base import Judging, RunOptions

FILE = "audit.json"


@dataclass(frozen=True, repr=False)
class Audited(Displayed):
    """Result of an audit, and its comparison with the file of accepted flaws.

    Attributes:
        result: content of ``audit.json``.
        accepted: number of flaws written to the file of accepted ones; None without ``accept``.
        new: with ``strict``, flaws that are not accepted.
        stale: with ``strict``, accepted (kind, query, passage) that are gone.
    """

    result: Audit
    accepted: int | None
    new: list[Flaw]
    stale: list[tuple[str, str, str]]

    def _headline(self) -> str:
        """Write the numbers of an audit's checks and flaws in one line."""
        n_flaws = sum(map(len, self.result.flaws.values()))
        return f"audit: {checks_made(self.result.checks)}, {n_flaws:,} flaws"

    def _tables(self) -> Iterator[Table]:
        """Yield the table of flaws, and that of degenerate systems if there is one."""
        rows = [(kind, len(rows), rows[0].detail) for kind, rows in self.result.flaws.items()]
        notes = [f"{check}: {how}" for check, how in self.result.checks.items()]
        yield Table(["flaw", "rows", "the first one"], rows, notes=notes)
        if self.result.exploits is not None:
            yield exploits_table(self.result.exploits)


@extras_named()
def audit(
    benchmark: Package | str | Path, options: AuditOptions | None = None, *,
    run: RunOptions | None = None,
) -> Audited:  # fmt: skip
    """Look for flaws in a package, as ``citeforge audit`` does.

    Writes ``audit.json`` into the package and renders its card again.

    Args:
        benchmark: a package that verifies, opened or by its folder.
        options: optional checks, and the models that make them.
        run: where a judge and a cross-encoder run, what they may cost.

    Raises:
        InputError: not a package, or a file named in the options is at fault.
        UsageError: there is no such judge, or the package is a copy: of the Hub, or with hidden
            gold.
    """
    options = options or AuditOptions()
    path, known = options.known_flaws, set[tuple[str, str, str]]()
    if path is not None and options.strict and not options.accept:
        known = read_accepted(path)
    package = Package(writable_folder(benchmark))
    require_writable(
        package.folder / FILE, *([path] if path is not None and options.accept else [])
    )
    result, survey = find_flaws(package, options, run or RunOptions())
    text = result.model_dump_json(indent=1) + "\n"
    write_card(package.folder, audit=text, checked_package=package, passage_lengths=survey.lengths)
    every_flaw = [f for rows in result.flaws.values() for f in rows]
    if path is not None and options.accept:
        rows = (KnownFlaw(*f.key) for f in every_flaw)
        write_bytes(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return Audited(result, len(every_flaw), [], [])
    return Audited(result, None, *(find_changes(every_flaw, known) if options.strict else ([], [])))


def find_flaws(
    package: Package, options: AuditOptions, run: RunOptions
) -> tuple[Audit, flaws.CorpusSurvey]:
    """Find the flaws of a package: (audit, survey of its corpus); write nothing.

    Returns:
        (content of ``audit.json``, survey of the corpus).

    Raises:
        InputError: a file named in the options is at fault.
    """
    judge, strong = _open_judges(options, run)
    return _run_checks(package, options, run, judge, strong)


def rehearse_audit(
    benchmark: Package | str | Path, options: AuditOptions, run: RunOptions
) -> tuple[JudgeSession | None, ...]:
    """Count an audit's calls in the ledger of a dry run, without any call; return its judges.

    The strong judge is counted for every negative where another judge has yet to say which are
    suspects.
    """
    package = Package(writable_folder(benchmark))
    judge, strong = _open_judges(options, run)
    _run_checks(package, options, run, judge, strong)
    return judge, strong


def _open_judges(
    options: AuditOptions, run: RunOptions
) -> tuple[JudgeSession | None, JudgeSession | None]:
    """Open the judge and the strong judge of an audit; None for those that are not named."""
    strong = judge_session(Judging(judge=options.strong_judge), run, option="--strong-judge")
    return judge_session(options, run), strong


def _run_checks(
    package: Package, options: AuditOptions, run: RunOptions, judge: JudgeSession | None,
    strong: JudgeSession | None,
) -> tuple[Audit, flaws.CorpusSurvey]:  # fmt: skip
    """Run all checks of an audit with open judges: (content of audit.json, corpus survey).

    Returns:
        (content of ``audit.json``, survey of the corpus).
    """
    _refuse_graph_options(package, options)
    benchmark = Base(package.folder, package.manifest) if package.corpus else None
    pairs = [] if benchmark is None else mapped_negatives(benchmark.negatives)
    relevant = [] if benchmark is None else benchmark.relevant.values()
    survey = flaws.survey_corpus(package, {p for _, p in pairs}.union(*relevant))
    every_flaw = [*survey.flaws, *flaws.find_odd_queries(package)]
    checks = {"texts": f"empty, over {flaws.LONG} words, repeated queries"}
    if benchmark is not None:
        checks |= _list_checks(benchmark, options)
        every_flaw += _find_passage_flaws(benchmark, survey.texts, options, judge, run)
    if package.kind.facts.shows == "triples":
        method, odd = _check_graphs(package, options, run)
        checks |= method
        every_flaw += odd
    for what, session in (("judge", judge), ("strong judge", strong)):
        if session is not None:
            made = session.judge.signature
            checks[what] = f"{SKIPPED_CHECK}no passages" if benchmark is None else made
    result = Audit(
        benchmark_hash=package.hash,
        checks=checks,
        flaws={kind: list(rows) for kind, rows in groupby(sorted(every_flaw), lambda f: f.kind)},
        negatives=len(pairs),
        personal_data=survey.personal_data,
        languages=survey.languages,
    )
    if strong is not None and benchmark is not None:
        suspect_finders = _name_finders(judge, options)
        suspect_all = judge is not None and judge.only_plans
        decided = decide_suspects(
            benchmark, survey.texts, every_flaw, suspect_finders, strong, suspect_all
        )
        stages = [suspect_finders, strong.judge.signature]
        result.cascade, result.decisions = sum_up_decisions(
            benchmark, decided, stages, options.labels
        )
    if options.exploits:
        result.exploits = try_exploits(package.folder, judge, options.exploit_measures)
        result.checks[EXPLOITS] = describe_exploits(result.exploits)
    if options.labels is not None:
        cascade = result.cascade
        result.false_negatives = cascade.before if cascade else estimate_share(options.labels)
    return result, survey


def _refuse_graph_options(package: Package, options: AuditOptions) -> None:
    """Refuse options for questions about graphs if a package has no such questions.

    Raises:
        UsageError: one of them is named, and the benchmark is not about a graph.
    """
    if package.kind.facts.shows == "triples":
        return
    for name in ("checker", "nearest"):
        if getattr(options, name) != AuditOptions.model_fields[name].default:
            raise UsageError(
                f"--{name}: is for questions about a graph (kalma), and this benchmark is of the "
                f"kind {package.kind.facts.name}",
                code="option-without-effect",
            )


def _check_graphs(
    package: Package, options: AuditOptions, run: RunOptions
) -> tuple[dict[str, str], list[Flaw]]:
    """Check a package's questions about graphs, and people's dates: (method by check, flaws)."""
    # Imported here: only packages of triples need the extra `kg`.
    from citeforge.builders.kalma.question_check import make_question_check
    from citeforge.builders.kalma.question_nearest import find_embedder_of
    from citeforge.kg.classes import merge_classes
    from citeforge.kg.domain import load_domain
    from citeforge.plugins.audit import lives
    from citeforge.plugins.audit.questions import CHECK, check_questions

    config = package.manifest.config
    domain = load_domain(config["domain"])
    store = replay_store(run, options.checker)
    check = make_question_check(merge_classes(domain), options.checker, store, run)
    nearest, recorded = find_embedder_of(config, options.nearest)
    with TemporaryDirectory() as folder:
        if nearest is not None and not run.dry_run:  # a dry run counts the most calls
            check.compare_with(run_embedder(nearest, run, option="--nearest"), Path(folder))
        method, odd = check_questions(package, check)
    used = "" if check.nearest is None else check.nearest.embedder.fingerprint()["name"]
    if recorded != used:
        theirs, ours = (name or "no embedder" for name in (recorded, used))
        method += f"; the build compared clauses with wordings by {theirs}, this audit by {ours}: "
        method += "--nearest"
    odd += lives.find_impossible_lives(package, domain)
    return {CHECK: method, lives.CHECK: lives.METHOD}, odd


def _name_finders(judge: JudgeSession | None, options: AuditOptions) -> str:
    """Name what finds suspect negatives: rules, and the judge and cross-encoder where used."""
    names = ["rules"]
    if judge is not None:
        names.append(judge.judge.signature)
    if options.cross_encoder is not None:
        names.append(model_title(options.cross_encoder))
    return " + ".join(names)


def _list_checks(benchmark: Base, options: AuditOptions) -> dict[str, str]:
    """List checks of passages and gold answers: name to method, or to why it is skipped."""
    beside = "relevant against negative passages"
    has_answers = any(benchmark.answers.values())
    checks = {
        "near-duplicates": f"MinHash of word trigrams, {NEAR} and more, {beside}",
        "shared text": f"runs of five words, {options.contained} and more of the shorter text, "
        + beside,
        "answers in negatives": "gold short answers, normalised"
        if has_answers
        else f"{SKIPPED_CHECK}no gold short answers",
    }
    if (model := options.cross_encoder) is not None:
        checks["cross-encoder"] = f"{model_title(model)}, score of {options.least_score} and more"
    others = ", ".join(p.name for p in options.against)
    return checks | {"leaks": others or f"{SKIPPED_CHECK}no other split given"}


def _find_passage_flaws(
    benchmark: Base,
    passage_texts: dict[str, str],
    options: AuditOptions,
    judge: JudgeSession | None,
    run: RunOptions,
) -> Iterator[Flaw]:
    """Find negatives that are probably relevant, and leaks between splits.

    Args:
        benchmark: the benchmark.
        passage_texts: texts of passages, by id.
        options: optional checks.
        judge: finds negatives that entail a gold answer; None for no such check.
        run: device of a cross-encoder.
    """
    negatives = mapped_negatives(benchmark.negatives)
    least = options.contained
    yield from find_suspects(negatives, benchmark.relevant, benchmark.answers, passage_texts, least)
    if judge is not None:
        yield from flaws.find_entailing(benchmark, passage_texts, judge)
    if options.cross_encoder is not None:
        yield from flaws.find_by_cross_encoder(benchmark, passage_texts, options, run.device)
    for other in options.against:
        yield from flaws.find_leaks(benchmark, passage_texts, Base(other))


class KnownFlaw(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the file of accepted flaws.

    Attributes:
        kind: name of the flaw.
        query: query id, or an empty string.
        passage: passage id, or an empty string.
        why: reason why it is accepted.
    """

    kind: str
    query: str = ""
    passage: str = ""
    why: str = ""


def read_accepted(path: Path) -> set[tuple[str, str, str]]:
    """Read the file of accepted flaws: (kind, query, passage) of each line.

    Raises:
        InputError: a line is wrong.
    """
    return {(r.kind, r.query, r.passage) for _, r in read_rows(path, KnownFlaw)}


def find_changes(
    flaws: Sequence[Flaw], accepted: Collection[tuple[str, str, str]]
) -> tuple[list[Flaw], list[tuple[str, str, str]]]:
    """Compare flaws with accepted ones: (new flaws, accepted ones that are gone)."""
    stale = set(accepted) - {f.key for f in flaws}
    return [f for f in flaws if f.key not in accepted], sorted(stale)
