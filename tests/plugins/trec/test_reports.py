"""Runs of TREC's report tracks: read, held against the tracks' rules, written."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import citeforge as cf
from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import FORMATS, detect
from citeforge.evaluator.submissions.submission import Submission
from citeforge.plugins.trec.reports import ReportSentence, TrecReport, read_reports
from citeforge.plugins.trec.rules import check_report
from citeforge.plugins.trec.tracks import TRACKS, Track
from citeforge.schemas.submission import SubmissionLine
from conftest import Inline, refused, write_jsonl
from scoring import iter_answers

BY_FORMAT = {track.format: track for track in TRACKS}
SEGMENTS = [f"msmarco_v2.1_doc_0{n}_12{n}#3_{n}45" for n in range(6)]
IDS = {
    "rag26": [f"shard_0000{n}_{n}" for n in range(6)],
    "ragtime25": (news := [f"47601789-65d8-4706-9bde-fc89fccfdf1{n}_15{n}" for n in range(6)]),
    "ragtime26": news,
    "neuclir24": news,
}
Q01 = "Which moon is the most volcanically active body in the Solar System?"


@pytest.fixture(scope="module")
def autojudge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """autojudge-base; it loads a list of English stop words, for which a short one stands in."""
    import nltk

    folder = tmp_path_factory.mktemp("nltk")
    words = folder / "corpora/stopwords/english"
    words.parent.mkdir(parents=True)
    words.write_text("the\n")
    patch = pytest.MonkeyPatch()
    patch.setattr(nltk, "download", lambda *args, **more: True)
    patch.setattr(nltk.data, "path", [str(folder), *nltk.data.path])
    import autojudge_base.report_spec_verification as verification

    yield verification
    patch.undo()


def about(track: Track, topic: str = "q01") -> dict[str, Any]:
    known = {
        "team_id": "t", "run_id": "r1", "run_desc": "BM25.", "type": "automatic",
        "task": "english", "use_starter_kit": 0, "topic_id": topic, "narrative_id": topic,
        "topic": Q01, "narrative": Q01, "response_length": 4,
    }  # fmt: skip
    return {name: known[name] for name in (*track.required, *track.advised)}


def wire(track: Track, row: dict[str, Any]) -> dict[str, Any]:
    """``about``, ``references`` and ``sentences`` as a track lays them out."""
    made = dict(row["about"]) if track.is_flat else {"metadata": row["about"]}
    if row.get("references") is not None:
        made["references"] = row["references"]
    return made | {track.sentences: row["sentences"]}


def good(track: Track, topic: str = "q01") -> dict[str, Any]:
    """A report that keeps all rules."""
    one, two = IDS.get(track.name, SEGMENTS)[:2]
    cites: Any = {
        "index": ([0, 1], [1]), "ids": ([one, two], [two]), "scores": ({one: 0.9, two: 0.3},
        {two: 1.0}),
    }[track.styles[0]]  # fmt: skip
    sentences = [
        {"text": "Io it is.", "citations": cites[0]},
        {"text": "It has volcanoes.", "citations": cites[1]},
        {"text": "That is all.", "citations": type(cites[0])()},
    ]
    listed = None if track.references == "free" else [one, two]
    return {"about": about(track, topic), "references": listed, "sentences": sentences}


def save(path: Path, track: Track, *rows: dict[str, Any]) -> Path:
    return write_jsonl(path, [wire(track, row) for row in rows])


@pytest.mark.parametrize("track", TRACKS, ids=lambda t: t.name)
def test_every_track_is_read(tmp_path: Path, benchmark: Benchmark, track: Track) -> None:
    path = save(tmp_path / "run.jsonl", track, good(track))
    # NeuCLIR's layout is RAGTIME's, so that it has to be named.
    assert detect(path).name == ("trec-ragtime25" if track.name == "neuclir24" else track.format)
    ((line, answer),) = iter_answers(path, benchmark, track.format)
    assert (line, answer.query_id) == (1, "q01")
    # In TREC places count from 0, in this benchmark from 1.
    assert answer.output == "Io it is [1][2].\nIt has volcanoes [2].\nThat is all."
    assert [p.docid for p in answer.passages or []] == IDS.get(track.name, SEGMENTS)[:2]
    assert Submission(path, benchmark, track.format).system == "r1"
    result = check(path, benchmark, file_format=track.format)
    assert result.errors == []
    assert not any("[0]" in str(w) or "metadata" in str(w) for w in result.warnings)


def test_texts_and_judgements_are_the_benchmarks(
    inline: Inline, package: Path, tmp_path: Path, benchmark: Benchmark
) -> None:
    track = BY_FORMAT["trec-rag25"]
    relevant = benchmark.relevant_ids[benchmark.row_of["q01"]][0]
    row = good(track) | {"references": [relevant, "zebra"]}
    row["sentences"] = [{"text": "Io it is.", "citations": [0, 1, 7, -1]}]
    path = save(tmp_path / "run.jsonl", track, row)
    ((_, answer),) = iter_answers(path, benchmark)
    assert answer.output == "Io it is [1][2][3][4]."  # places 7 and -1 are none
    assert answer.passages is not None
    assert answer.passages[0].text == benchmark.texts([relevant])[relevant][1]
    args = ("--benchmark", package, "--format", "trec-rag25:any")
    done = inline.ok("score", "run.jsonl", *args, "--out", "s.json")
    values = {
        m["name"]: m["per_query"][benchmark.row_of["q01"]]
        for m in json.loads((tmp_path / "s.json").read_text())["measures"]
    }
    assert (values["CiteP"], values["CiteR"]) == (1 / 4, 1)
    assert "1 of 2 passages have docids that the benchmark does not know (zebra)" in done.stderr
    assert "r1 read as trec-rag25:any" in done.stdout
    # The track would refuse it: so do all commands, unless they are asked to take it.
    for command in ("check", "score"):
        assert "7 is no place in references" in str(inline(command, "run.jsonl", *args[:2]))
        inline.fails(2, "bad-option", command, "run.jsonl", *args[:3], "trec-rag25:some")
    assert inline.ok("check", "run.jsonl", *args).stdout.endswith("0 errors, 35 warnings\n")


BAD: list[tuple[str, str, Any, str, bool]] = [
    ("rag25", "sentences", [{"text": "A.", "citations": [2]}], "2 is no place in references", True),
    ("rag25", "sentences", [{"text": "A.", "citations": [-1]}], "-1 is no place in", True),
    ("rag26", "sentences", [{"text": "A.", "citations": [0, 1, 0, 1]}], "4 of them; 3 are", False),
    ("rag26", "sentences", [{"text": "A.", "citations": [0]}], "1 entries are not cited", False),
    ("ragtime25", "sentences", [{"text": "A.", "citations": [news[0]]}], "1 entries are not", True),
    ("rag26", "sentences", [{"text": "w " * 1025, "citations": [0, 1]}], "1,025 words", True),
    ("rag25", "sentences", [{"text": "w " * 401, "citations": [0, 1]}], "401 words", False),
    ("dragun25", "sentences", [{"text": "A.", "citations": [0]}], "has ids", True),
    ("rag25", "sentences", [{"text": "A.", "citations": [0, SEGMENTS[1]]}], "at once", True),
    ("rag25", "sentences", [], "has no sentence with text", False),
    ("rag25", "references", [SEGMENTS[0]] * 2, "is listed more than once", False),
    ("rag25", "references", None, "references: is missing", True),
    ("rag25", "references", [f"{s}{n}" for s in SEGMENTS for n in range(17)], "102 entries", True),
    ("rag24", "references", [f"{s}{n}" for s in SEGMENTS for n in range(4)], "24 entries", False),
    ("rag25", "run_id", None, "metadata.run_id: is missing or empty", True),
    ("rag24", "run_id", "", "run_id: is missing or empty", True),
    ("rag26", "run_id", "r" * 21, "21 characters; 20 are allowed", True),
    ("ragtime26", "run_desc", None, "recommends it", False),
    ("rag25", "narrative", "Something else?", "word for word", True),
]


@pytest.mark.parametrize(("name", "field", "value", "said", "is_error"), BAD)
def test_broken_rules_are_errors_or_warnings(
    tmp_path: Path, benchmark: Benchmark, name: str, field: str, value: Any, said: str,
    is_error: bool,
) -> None:  # fmt: skip
    track = BY_FORMAT[f"trec-{name}"]
    row = good(track)
    (row if field in row else row["about"])[field] = value
    result = check(save(tmp_path / "r.jsonl", track, row), benchmark, file_format=track.format)
    assert any(said in str(f) for f in (result.errors if is_error else result.warnings))
    if not is_error:
        assert result.errors == []


def test_many_references_cost_no_more_each() -> None:
    """Names are compared a few times each, not each with all."""
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    listed: list[str] = [Name(f"d{n}") for n in range(300)]
    track = BY_FORMAT["trec-ragtime25"]
    report = TrecReport(1, "q01", about(track), [*listed, Name("d299")], [ReportSentence("A.", [])])
    result = [str(b) for b in check_report(report, track) if b.code == "references-duplicate"]
    assert result == ["references: 'd299' is listed more than once"]
    assert compared < 10 * len(listed)


def test_runs_that_are_no_run(inline: Inline, package: Path, tmp_path: Path) -> None:
    track = BY_FORMAT["trec-rag25"]
    rows = [good(track), good(track), good(track, "q02"), good(track, "zebra")]
    rows[2]["about"] |= {"run_id": "r2", "narrative": "What is the largest moon?"}
    save(tmp_path / "run.jsonl", track, *rows)
    lines = (tmp_path / "run.jsonl").read_text()
    unnamed = json.dumps(wire(track, good(track))).replace('"narrative_id": "q01", ', "")
    (tmp_path / "run.jsonl").write_text(lines + unnamed + "\n" + "{]\n")
    done = inline("check", "run.jsonl", "--benchmark", package)
    assert done.returncode == 1
    for said in (
        "run.jsonl:2: error: query_id: duplicate answer to 'q01' (context own, run 0; first",
        "run.jsonl:3: error: metadata.narrative: is not the text of the topic",
        "run.jsonl:3: error: run_id: 'r2', and 'r1' at line 1; a file contains one run",
        "run.jsonl:4: error: query_id: 'zebra' is not in the benchmark",
        "run.jsonl:5: error: metadata.narrative_id: is missing or not an id",
        "run.jsonl:6: error: is not one JSON object",
    ):
        assert said in done.stdout
    done = inline.fails(1, "narrative", "score", "run.jsonl", "--benchmark", package)
    assert (done.error.path, done.error.line) == ("run.jsonl", 3)  # type: ignore[union-attr]
    words = ("--benchmark", package, "--format", "trec-rag25:any")
    done = inline.fails(1, "missing-field", "score", "run.jsonl", *words)
    assert (done.error.path, done.error.line) == ("run.jsonl", 5)  # type: ignore[union-attr]


@pytest.mark.parametrize("is_theirs", [True, False])
def test_the_corpus_decides_whose_ids_count(
    tmp_path: Path, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch, is_theirs: bool
) -> None:
    """A benchmark of a track's collection has its ids; another one has its own."""
    track = BY_FORMAT["trec-rag25"]
    path = save(tmp_path / "r.jsonl", track, good(track) | {"references": ["d1", SEGMENTS[0]]})
    if is_theirs:
        batch = pa.RecordBatch.from_pydict({"_id": SEGMENTS})
        monkeypatch.setattr(Benchmark, "passages", lambda self, columns: iter([batch]))
    faults = list(FORMATS.get(track.format).faults(path, benchmark, ""))
    said = [f.message for f in faults if f.code == "docid-pattern"]
    assert len(said) == 2 * is_theirs  # listed, and cited
    assert all("'d1' is no id of TREC RAG 2025's collection" in text for text in said)


OWN = [
    {"query_id": "q01", "context": "mix", "output": "Io it is [1]. Says who? It does [2][1]."},
    {"query_id": "q02", "context": "mix", "output": "Nothing is known."},
    {"query_id": "q03", "context": "mix", "output": "A [9].\n\n- b [1]\n- c [1, 2, 3, 4]"},
]


@pytest.mark.parametrize("track", TRACKS, ids=lambda track: track.name)
@pytest.mark.parametrize("described", [True, False])
def test_our_exports_pass_our_check(
    tmp_path: Path, inline: Inline, package: Path, benchmark: Benchmark, track: Track,
    described: bool,
) -> None:  # fmt: skip
    """Each is read back in its own format, or the others that it may be are named."""
    mine = write_jsonl(tmp_path / "mine.jsonl", OWN)
    more = {"run_desc": "BM25."} if described or "run_desc" in track.required else {}
    cf.export(track.format, package, tmp_path / "out", submission=mine, team="t", **more)
    path = tmp_path / "out" / "run.jsonl"
    found = check(path, benchmark)
    assert (found.errors, found.n_lines) == ([], 3)
    others = [f.message for f in found.warnings if f.code == "ambiguous-format"]
    if detect(path).name != track.format:
        assert track.format in others[0]
    told = (
        track.name.startswith("rag2")
        or track.name == "dragun25"
        or "run_desc" in str(path.read_text().splitlines()[0])
    )
    assert (others == []) == told
    named = check(path, benchmark, file_format=track.format)
    assert (named.errors, "ambiguous-format" in [f.code for f in named.warnings]) == ([], False)
    assert inline.ok("score", path, "--benchmark", package).returncode == 0


def test_topics_and_sentences_are_asked_for(tmp_path: Path) -> None:
    track = BY_FORMAT["trec-ragtime26"]
    row = wire(track, good(track))
    for broken, code, field in (
        (row | {"metadata": {"topic_id": True}}, "missing-field", "metadata.topic_id"),
        ({"metadata": row["metadata"]}, "missing-field", "responses"),
        (row | {"responses": [{"text": "A", "citations": {"d": "x"}}]}, "wrong-type",
         "responses[0].citations[...]"),
    ):  # fmt: skip
        path = write_jsonl(tmp_path / "r.jsonl", [broken])
        with refused(code, path=path, line=1, field=field):
            list(read_reports(path, track))


KNOWN = [t for t in TRACKS if t.name not in ("rag24", "neuclir24")]
TEXTS = st.sampled_from(["Io it is.", "Yes.", "", "  ", "word " * 260, "It [1] is."])


@st.composite
def odd_reports(draw: st.DrawFn) -> tuple[Track, dict[str, Any]]:
    """A report that keeps or breaks each rule by chance."""
    track = draw(st.sampled_from(KNOWN))
    row = good(track)
    ids = [*IDS.get(track.name, SEGMENTS), "nonsense"]
    some = st.lists(st.sampled_from(ids), max_size=5)
    cites: Any = {
        "index": st.lists(st.integers(-1, 4), max_size=5),
        "ids": some,
        "scores": st.dictionaries(st.sampled_from(ids), st.sampled_from([0.1, 0.5]), max_size=5),
    }[draw(st.sampled_from(["index", "ids", "scores"]))]
    made = st.fixed_dictionaries({"text": TEXTS, "citations": cites})
    row["sentences"] = draw(st.lists(made, max_size=4))
    row["references"] = draw(st.none() | some)
    for name in draw(st.sets(st.sampled_from(sorted({*row["about"]} - {track.topic})))):
        if draw(st.booleans()):
            del row["about"][name]
        elif name != "use_starter_kit":
            row["about"][name] = draw(st.sampled_from(["", " ", "x" * 22, "y"]))
    return track, row


@given(odd=odd_reports())
def test_the_rules_are_those_of_autojudge(
    autojudge: ModuleType, tmp_path: Path, odd: tuple[Track, dict[str, Any]]
) -> None:
    track, row = odd
    path = save(tmp_path / "odd.jsonl", track, row)
    (report,) = read_reports(path, track)
    ours = Counter((b.code.replace("-", "_"), b.is_error) for b in check_report(report, track))
    assert ours == theirs(autojudge, track, row)


def theirs(autojudge: ModuleType, track: Track, row: dict[str, Any]) -> Counter[tuple[str, bool]]:
    """(category, is error) of all that autojudge-base finds."""
    from autojudge_base.report import Report
    from autojudge_base.track_spec import get_spec

    spec, seen = get_spec(track.name), Counter[tuple[str, bool]]()

    class Spy(autojudge.TrackSpecVerification):  # type: ignore[misc, name-defined]
        def _add(self, category: str, message: str) -> None:
            seen[category, category not in self.spec.smells] += 1

    whole = {"team_id": None, "run_id": None} | row["about"]
    made = Report.model_construct(**wire(track, row | {"about": whole}))
    made.metadata = SimpleMetadata(whole)
    tags = {"index": "rag24", "ids": "neuclir", "scores": "ragtime"}
    accepted = track.styles
    made.responses = [sentence_of(s, tags, accepted[0]) for s in row["sentences"]]
    made.references = row["references"]
    Spy(made, spec).run()
    return seen


class SimpleMetadata:
    """Metadata with None for what is absent, as pydantic leaves it."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.__dict__.update(known)


def sentence_of(row: dict[str, Any], tags: dict[str, str], usual: str) -> Any:
    """A sentence as the class that its citations say; without any, as the track's usual one."""
    from autojudge_base.track_spec import sentence_class_for

    cites = row["citations"]
    style = usual
    if isinstance(cites, dict) and cites:
        style = "scores"
    elif cites:
        style = "index" if isinstance(cites[0], int) else "ids"
    return sentence_class_for(tags[style]).model_construct(
        text=row["text"], citations=cites if cites else None
    )


@st.composite
def own_answers(draw: st.DrawFn, track: Track) -> list[dict[str, Any]]:
    ids = IDS.get(track.name, SEGMENTS)
    rows = []
    for query in draw(st.sets(st.sampled_from(["q01", "q02", "q07"]), min_size=1)):
        shown = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=5, unique=True))
        marks = st.lists(st.integers(1, len(shown)), max_size=3, unique=True)
        said = st.tuples(
            st.sampled_from(["Io has volcanoes", "It is a moon", "Dr. No saw 3.5 of them"]), marks
        )
        text = " ".join(
            f"{words}{''.join(f' [{n}]' for n in result)}."
            for words, result in draw(st.lists(said, min_size=1, max_size=4))
        )
        passages = [{"docid": name, "text": f"text of {name}"} for name in shown]
        rows.append({"query_id": query, "output": text, "passages": passages})
    return rows


def written(
    tmp_path: Path, package: Path, track: Track, rows: list[dict[str, Any]], run_id: str = "r1"
) -> tuple[Path, list[str]]:
    path = write_jsonl(tmp_path / "answers.jsonl", rows)
    out = tmp_path / "made"
    for name in ("run.jsonl", "topics.jsonl"):
        (out / name).unlink(missing_ok=True)
    if out.exists():
        out.rmdir()
    lost = cf.export(track.format, package, out, submission=path, team="t", run_desc="d",
                  task="english", run_id=run_id)  # fmt: skip
    return out / "run.jsonl", lost


def said(benchmark: Benchmark, answer: SubmissionLine) -> list[tuple[str, list[str | None]]]:
    """Statements with the ids that they cite."""
    from citeforge.engines.text.sentences import SentenceSegmenter
    from citeforge.evaluator.statements.split import split_statements

    shown = [p.docid for p in answer.passages or []]
    result = split_statements(answer.output, benchmark.grammar, SentenceSegmenter(), len(shown))
    return [(s.text, [shown[n - 1] for n in s.numbers]) for s in result.statements]


@pytest.mark.parametrize("track", TRACKS, ids=lambda t: t.name)
def test_what_is_written_is_read_again_and_autojudge_verifies_it(
    autojudge: ModuleType, tmp_path: Path, package: Path, benchmark: Benchmark, track: Track
) -> None:
    from autojudge_base.report import load_report

    @given(rows=own_answers(track))
    @settings(max_examples=6)
    @example(rows=[{"query_id": "q01", "output": "Io is one [1].", "passages": [
        {"docid": IDS.get(track.name, SEGMENTS)[0]}]}])  # fmt: skip
    def holds(rows: list[dict[str, Any]]) -> None:
        path, lost = written(tmp_path, package, track, rows)
        assert lost == [f"{30 - len(rows)} queries without an answer"]
        there = {a.query_id: a for _, a in iter_answers(tmp_path / "answers.jsonl", benchmark)}
        back = {a.query_id: a for _, a in iter_answers(path, benchmark, track.format)}
        assert {q: said(benchmark, a) for q, a in back.items()} == (
            {q: said(benchmark, a) for q, a in there.items()}
        )
        assert check(path, benchmark, file_format=track.format).errors == []
        if track in KNOWN:
            for report in load_report(path):
                assert report.verify(track.name)

    holds()


def test_what_a_run_cannot_carry_is_counted(
    inline: Inline, package: Path, tmp_path: Path, benchmark: Benchmark
) -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "q01", "output": "Io [1][9].", "context": "mix"},
        {"query_id": "q02", "output": "[1][2]", "context": "mix"},
        {"query_id": "q02", "output": "Again [1].", "context": "mix", "run": 1},
    ]
    write_jsonl(tmp_path / "s.jsonl", rows)
    args = ("export", "trec-rag26", package, "--submission", "s.jsonl", "--out", "run")
    done = inline.ok(*args, "--team", "t", "--run-desc", "BM25", "--run-id", "r")
    assert done.stdout.splitlines()[1:] == [
        "not carried: 1 answer of repeated runs: a TREC run has one per topic",
        "not carried: 1 citation of passages that were not shown, or have no id",
        "not carried: 2 citations that belong to no statement",
        "not carried: 28 queries without an answer",
    ]
    first, _ = (json.loads(line) for line in (tmp_path / "run/run.jsonl").open())
    shown = benchmark.context("mix").ids_of(0)
    assert first["references"] == [shown[0]]
    assert first["answer"] == [{"text": "Io.", "citations": [0]}]
    topics = [json.loads(line) for line in (tmp_path / "run/topics.jsonl").open()]
    assert topics[0] == {"request_id": "q01", "title": Q01}
    for more, code, words in [
        ((), "missing-option", "--team"),
        (("--team", "t"), "missing-option", "--run-desc"),
        (("--team", "t", "--min-f1", "0.5"), "", "No such option '--min-f1'"),
    ]:
        wrong = inline.fails(2, code, *args[:-1], "other", *more)
        assert words in wrong.stderr
    for name, options in (("trec-rag25", {}), ("beir", {"team": "t"})):
        with refused("bad-option", cf.UsageError):
            cf.export(name, package, tmp_path / "x", **options)
