"""KaLMA's own evaluator and ours on the same answers: every figure, to 1e-9.

Their scripts are imported with the heavy modules stubbed, run in a folder laid out as they expect,
and their judge replaced by a function that ours asks as well.
"""

import csv
import json
import random
import re
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from citeforge.builders.kalma.build import build_kalma
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Request
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.publishing.export import export
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.kalma import KalmaRecipe
from conftest import write_jsonl
from peers.frozen import FrozenNumbers, Program, load_module
from scoring import score
from stand_ins import RuleJudge, RuleLlm

KALMA = Program(
    "kalma",
    "lixinze777/Knowledge-aware-Language-Model-Attribution",
    "eval_recall.py, eval_relevance.py, eval_NA.py and GPT_EVAL.py: main(); functions of the texts "
    "stand in for the NLI model and the LLM",
    "test_kalma_peer.py",
)
Graphs = list[list[dict[str, str]]]
Golds = list[list[Any]]
"""(question, triples) of each question."""

MARKS = ("4", "Score: 4 out of 5", "I would rate this answer a 3.", "10", "0", "", "none", "3.5",
         "2\n", "The answer deserves 4 out of 5.", "5/5", "7 of 9", "１")  # fmt: skip


# --- what is scored ----------------------------------------------------------------------------

VALUES = ("Rome", "Škoda", "Psycho: a story", "Trinity College, Cambridge", "1815-12-10",
          "-0044-03-15", "Q4233718", "Prize [2010]", "A.B. Smith", "O'Neill", "painter", "naïve",
          "Notes, vol. 2: the end", "", "x", "St. Louis")  # fmt: skip
RELATIONS = ("surname", "alma mater", "notable works", "languages spoken", "date_of_birth",
             "occupation", "spouse", "Son", "son", "place of birth", "date_of_death",
             "languages spoken, written or signed", "topic's main category")  # fmt: skip


def make_graphs(rng: random.Random) -> list[dict[str, str]]:
    """One or two sub-graphs; sometimes none."""
    graphs: list[dict[str, str]] = []
    for number in range(rng.choice((0, 1, 1, 1, 2, 2, 2))):
        graph = {r: rng.choice(VALUES) for r in rng.sample(RELATIONS, rng.randint(3, 9))}
        graph["name"] = rng.choice(("Ada Lovelace", "Lord Byron", "J. S. Bach", "Émilie, Marquise"))
        graph["qid"] = f"Q{2 * rng.randint(1, 30) + number}"  # theirs differ within a question
        graphs.append(graph)
    return graphs + graphs[:1] if rng.random() < 0.05 else graphs


def fact(rng: random.Random, graphs: list[dict[str, str]]) -> tuple[str, str, str]:
    """A triple, mostly of the graphs."""
    if not graphs or rng.random() < 0.15:
        return f"Q{rng.randint(1, 60)}", rng.choice(RELATIONS), rng.choice(VALUES)
    graph = rng.choice(graphs)
    relation = rng.choice([r for r in graph if r != "qid"])
    return graph["qid"], relation, graph[relation]


def well_formed(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = rng.choice(facts)
    return f"She was {v} [{q}, {r}: {v}]."


def many_in_one(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q = facts[0][0]
    return f"It is so [{q}, {', '.join(f'{r}: {v}' for _, r, v in facts[:3])}]."


def demonstration(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"Known [{q}, name: Ada Lovelace]. More [{q}, Ada Lovelace, {r}: {v}], and so on."


def prompt_form(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[-1]
    return f"Fact [qid: {q}, {r}: {v}]. Other [{q.lower()}, {r}: {v}] [ {q}, {r}: {v} ]."


def nested(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    (q, r, v), (p, s, w) = facts[0], facts[-1]
    return f"A [[{q}, {r}: {v}]] B [{q}, {r}: {v} [{p}, {s}: {w}]] C [{q}, {r}: {v}"


def incomplete(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"A [{q}]. B [{q}, {r}]. C [{q}, {r}: ]. D [{q}: {r}: {v}]. E [{r}: {v}]. [, {r}: {v}]"


def marked_absent(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"{v} is said [NA]. So is {facts[-1][2]} [NA] [{q}, {r}: {v}]. Not [na] or [ NA ]."


def abbreviations(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"J. S. Bach met A. B? Yes. [{q}, {r}: {v}] Then? [{q}, {r}: {v}] U.S. It was. So  ."


def markers_first(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    return " ".join(f"[{q}, {r}: {v}] says {v}." for q, r, v in facts)


def over_lines(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"One [{q}, {r}: {v}].\nTwo [{q},\n{r}: {v}].\r\n- Three “{v}” [{q}, {r}: {v}]\n"


def repeated(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    mark = f"[{q}, {r}: {v}]"
    return f'He said "{v}" {mark}{mark} {mark}. Again {mark}, {mark}.'


def passages(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    return "Cited otherwise [1][2, 3] and (see [Note: this, that: other]). None【1】."


def own_id(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    q, r, v = facts[0]
    return f"{v} [{q}, qid: {q}]! So it is [{q}, qid: Q0] [ {q}, {r}: {v}]. Yes! She is {v} [NA]."


def other_case(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    return " ".join(f"{v.upper()} it was [{q}, {r}: {v}]." for q, r, v in facts)


def uncited(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    return rng.choice(("I do not know.", " ", "\n", "word", "…"))


def unreadable(rng: random.Random, facts: Sequence[tuple[str, str, str]]) -> str:
    return rng.choice(("", "", "NA", "nan", "None", "N/A", "null"))


KINDS: tuple[Callable[[random.Random, Sequence[tuple[str, str, str]]], str], ...] = (
    well_formed, many_in_one, demonstration, prompt_form, nested, incomplete, marked_absent,
    abbreviations, markers_first, over_lines, repeated, passages, own_id, other_case, uncited,
    unreadable,
)  # fmt: skip


def make_world(seed: int, n: int) -> tuple[list[str], list[list[dict[str, str]]], list[str]]:
    """Questions, their graphs, and an answer of a known kind each."""
    rng = random.Random(seed)
    graphs = [make_graphs(rng) for _ in range(n)]
    questions = [f"Who is number {i}, and why?" for i in range(n)]
    answers = []
    for i, mine in enumerate(graphs):
        facts = [fact(rng, mine) for _ in range(rng.randint(2, 5))]
        text = KINDS[i % len(KINDS)](rng, facts)
        if rng.random() < 0.5 and KINDS[i % len(KINDS)] is not unreadable:
            other = [fact(rng, mine) for _ in range(rng.randint(2, 5))]
            text += " " + rng.choice(KINDS[:-2])(rng, other)
        answers.append(text)
    return questions, graphs, answers


def make_golds(seed: int, questions: list[str], graphs: list[list[dict[str, str]]]) -> list[Golds]:
    """Triples of all rounds, and of the later ones, of which each question has some: their code
    divides by their number."""
    rng = random.Random(f"gold {seed}")
    golds: list[Golds] = [[], []]
    for question, mine in zip(questions, graphs, strict=True):
        facts = [list(fact(rng, mine)) for _ in range(rng.randint(2, 6))]
        first, later = facts[: rng.randint(0, 2)], facts[1:]
        for rows, triples in zip(golds, (first + later, later), strict=True):
            unique = [t for i, t in enumerate(triples) if t not in triples[:i]]
            rows.append([question, unique])
    return golds


def write_outputs(path: Path, rows: list[list[str]]) -> Path:
    """Answers as their scripts read them."""
    with path.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["Question", "Knowledge Graph", "Answer"])
        writer.writerows(rows)
    return path


def entails(premise: str, hypothesis: str) -> bool:
    """The judge of both sides; an empty premise entails nothing."""
    words = set(re.findall(r"\w{2,}", premise.lower()))
    return bool(words) and (
        bool(words & set(re.findall(r"\w{2,}", hypothesis.split(": ", 1)[-1].lower())))
        or (len(premise) + len(hypothesis)) % 5 == 0
    )


def mark_for(answer: str) -> str:
    """Reply of the LLM of both sides."""
    return MARKS[sum(answer.encode()) % len(MARKS)]


# --- their side --------------------------------------------------------------------------------


class Scripts:
    """Their scripts in a folder laid out as they expect."""

    def __init__(self, checkout: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.checkout, self.folder, self.patch = checkout, folder, patch
        for name in ("auto_eval/eval_results/run", "ablation/eval_results/run", "outputs",
                     "rerank"):  # fmt: skip
            (folder / name).mkdir(parents=True)
        (folder / "prompt").symlink_to(checkout / "prompt")

    def script(self, path: str) -> Any:
        """One of their scripts as a module, its folder the working directory."""
        self.patch.chdir(self.folder / Path(path).parent)
        self.patch.setattr(sys, "argv", [path])
        loader = types.SimpleNamespace(from_pretrained=lambda *a, **k: None)
        stubs: dict[str, dict[str, Any]] = {
            "torch": {"bfloat16": None},
            "transformers": {"AutoModelForSeq2SeqLM": loader, "AutoTokenizer": loader},
            "openai": {},
        }
        for name, content in stubs.items():
            stub = types.ModuleType(name)
            stub.__dict__.update(content)
            self.patch.setitem(sys.modules, name, stub)
        return load_module(self.checkout / path, f"kalma_{Path(path).stem}")

    def dump(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(json.dumps(content))

    def figures(self, rows: list[list[str]], graphs: Graphs, golds: list[Golds]) -> dict[str, Any]:
        """All that their evaluators print for one file of outputs."""
        write_outputs(self.folder / "outputs/run.csv", rows)
        selected = [[row[0], g] for row, g in zip(rows, graphs, strict=True)]
        self.dump("questions_selected_graphs.json", selected)
        self.dump("rerank/questions_selected_graphs.json", selected)
        recall = self.script("auto_eval/eval_recall.py")
        self.dump("auto_eval/gold_used_knowledge.json", golds[1])
        corr, corr_macro, r, r_macro = recall.main("run", "run", "no_round1")
        text = (self.folder / "auto_eval/eval_results/run/eval_run.txt").read_text()
        n_na, n_cited = (float(line.rpartition(": ")[2]) for line in text.splitlines()[:2])
        self.dump("auto_eval/gold_used_knowledge.json", golds[0])
        p, p_macro = recall.main("run", "run", "with_round1")
        relevance = self.script("auto_eval/eval_relevance.py")
        relevance.check_entail = entails
        relevance.main("run")
        text = (self.folder / "auto_eval/eval_results/precision_run.txt").read_text()
        align, align_macro = (float(line.rpartition(": ")[2]) for line in text.splitlines())
        absent = self.script("ablation/eval_NA.py")
        absent.check_entail = entails
        self.dump("auto_eval/gold_used_knowledge_no_round1.json", golds[1])
        na_p, na_r, _ = absent.main("run", "run", "no_round1")
        marks = {}
        geval = self.script("auto_eval/GPT_EVAL.py")
        geval.ChatGPT.generate = lambda _, messages: [
            mark_for(m[1]["content"].rpartition("/nAnswer: ")[2]) for m in messages
        ]
        for i, aspect in enumerate(("coherence", "consistency", "fluency", "relevance")):
            marks[f"GEval.{aspect}"] = geval.main(i, aspect, "run", "run")
        return {
            "KaLMA.Corr@micro": 100 * corr,
            "KaLMA.Corr@macro": 100 * corr_macro,
            "KaLMA.P@micro": 100 * p,
            "KaLMA.P@macro": 100 * p_macro,
            "KaLMA.R@micro": 100 * r,
            "KaLMA.R@macro": 100 * r_macro,
            "KaLMA.F1@micro": 100 * recall.calculate_f1(p, r),
            "KaLMA.F1@macro": 100 * recall.calculate_f1(p_macro, r_macro),
            "KaLMA.Citations": n_cited,
            "KaLMA.NAs": n_na,
            "KaLMA.Align@micro": 100 * align,
            "KaLMA.Align@macro": 100 * align_macro,
            "KaLMA.NA.P": 100 * na_p,
            "KaLMA.NA.R": 100 * na_r,
            **marks,
        }


def run_scripts(
    checkout: Path, rows: list[list[str]], graphs: Graphs, golds: list[Golds]
) -> dict[str, Any]:
    """Figures of one file of outputs.

    Args:
        checkout: their repository.
        rows: question, graphs as text, answer.
        graphs: of each question.
        golds: with the triples of round 1, and without them.
    """
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        return Scripts(checkout, Path(folder), patch).figures(rows, graphs, golds)


def run_of_files(
    checkout: Path, files: list[list[list[str]]], graphs: Graphs, golds: list[Golds]
) -> dict[str, float]:
    """Means of several files of outputs, and F1 of these means."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        scripts = Scripts(checkout, Path(folder), patch)
        each = [scripts.figures(rows, graphs, golds) for rows in files]
        recall = scripts.script("auto_eval/eval_recall.py")
        means = {
            f"KaLMA.{name}@{how}": recall.calculate_avg_std(
                [one[f"KaLMA.{name}@{how}"] for one in each]
            )[0]
            for name in ("Corr", "P", "R")
            for how in ("micro", "macro")
        }
        for how in ("micro", "macro"):
            both = (means[f"KaLMA.{name}@{how}"] / 100 for name in "PR")
            means[f"KaLMA.F1@{how}"] = 100 * recall.calculate_f1(*both)
        return means


# --- our side ----------------------------------------------------------------------------------


def mark(request: Request) -> str:
    """The same mark by an LLM of ours."""
    quoted = request.messages[-1][1].partition("Answer:\n<quote-")[2]
    return mark_for(quoted[18:].partition("\n</quote-")[0])


def ours(benchmark: Path, submission: Path) -> dict[str, float | None]:
    result = score(
        submission,
        Benchmark(benchmark),
        select(["kalma"]),
        context="full",
        protocol="reference",
        tools=ScoringTools(
            JudgeSession(RuleJudge(entails)), llm=RuleLlm(mark)
        ),  # no segmenter: theirs is an expression
    )
    assert result.not_computed == []
    return {m.name: m.value for m in result.measures}


def build(folder: Path, name: str, graphs: Path, with_first: Path, later: Path | None) -> Path:
    recipe = KalmaRecipe(source=f"kalma:{graphs}", gold=with_first, gold_later=later)
    build_kalma(recipe, RunOptions(out=folder / name))
    return folder / name


def build_from(folder: Path, questions: list[str], graphs: Graphs, golds: list[Golds]) -> Path:
    """A benchmark of drawn questions."""
    selected = [[q, g] for q, g in zip(questions, graphs, strict=True)]
    for name, content in (("graphs", selected), ("with", golds[0]), ("later", golds[1])):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return build(folder, "k", folder / "graphs.json", folder / "with.json", folder / "later.json")


@pytest.mark.parametrize(("seed", "n"), [(1, 450), (2, 150)])
def test_every_figure(printed: FrozenNumbers, tmp_path: Path, seed: int, n: int) -> None:
    questions, graphs, answers = make_world(seed, n)
    golds = make_golds(seed, questions, graphs)
    rows = [[q, str(g), a] for q, g, a in zip(questions, graphs, answers, strict=True)]
    expected = printed(KALMA, f"seed {seed}", run_scripts, rows, graphs, golds)
    package = build_from(tmp_path, questions, graphs, golds)
    lines: list[dict[str, object]] = [
        {"query_id": q, "output": a, "context": "full"}
        for q, a in zip(Benchmark(package).query_ids, answers, strict=True)
    ]
    jsonl = write_jsonl(tmp_path / "run.jsonl", lines)
    table = write_outputs(tmp_path / "run.csv", rows)
    for submission in (jsonl, table):
        result = ours(package, submission)
        # Their script prints both halves of the paper's Figure 4, and not their harmonic mean.
        f1 = result.pop("KaLMA.NA.F1")
        p, r = expected["KaLMA.NA.P"], expected["KaLMA.NA.R"]
        assert f1 == pytest.approx(2 * p * r / (p + r), abs=1e-9)
        assert result.keys() == expected.keys()
        for name, value in expected.items():
            assert result[name] == pytest.approx(value, abs=1e-9), (submission.suffix, name)

    # Exported and read again, nothing moves; and their code reads what was exported.
    export("kalma", package, tmp_path / "out", context="full")
    out = tmp_path / "out"
    again = build(tmp_path, "again", out / "specific.json", out / "gold.json", None)
    assert ours(again, table) == ours(package, jsonl)
    exported = [json.loads((out / f"gold{name}.json").read_text()) for name in ("", "_no_round1")]
    shown = [g for _, g in json.loads((out / "specific.json").read_text())]
    assert expected == pytest.approx(
        printed(KALMA, f"seed {seed}, exported", run_scripts, rows, shown, exported), abs=1e-9
    )


def test_several_runs(printed: FrozenNumbers, tmp_path: Path) -> None:
    questions, graphs, answers = make_world(4, 150)
    golds = make_golds(4, questions, graphs)
    runs = [answers, [answer if i % 3 else "" for i, answer in enumerate(answers)]]
    files = [
        [[q, str(g), a] for q, g, a in zip(questions, graphs, run, strict=True)] for run in runs
    ]
    expected = printed(KALMA, "two runs", run_of_files, files, graphs, golds)
    package = build_from(tmp_path, questions, graphs, golds)
    lines: list[dict[str, object]] = [
        {"query_id": query, "output": answer, "context": "full", "run": number}
        for number, run in enumerate(runs)
        for query, answer in zip(Benchmark(package).query_ids, run, strict=True)
    ]
    result = ours(package, write_jsonl(tmp_path / "run.jsonl", lines))
    assert {name: result[name] for name in expected} == pytest.approx(expected, abs=1e-9)
