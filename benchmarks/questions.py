"""How many questions the check of `build kalma` keeps: good ones in two styles, bad ones by kind.

Each pair of a template benchmark gets questions composed from a bank of wordings: the one beside
this script, or that of scripted writers in CITEFORGE_CASES. A bad question differs from the first
style in one thing. They are checked by the rules, and with a checker that knows what each question
asks (a server on loopback): what that keeps, only the rules could have refused. The graph is that
of CITEFORGE_REAL_DATA, else of examples/people.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from citeforge.builders.kalma.question_check import (
    QuestionCheck,
    QuestionToCheck,
    describe_fact,
    make_question_check,
)
from citeforge.engines.running.setup import run_embedder
from citeforge.ir_convert.kalma import read_entries
from citeforge.kg.domain import load_domain
from citeforge.schemas.recipes.base import RunOptions

HERE = Path(__file__).parent
PAIRS = 60
"""Pairs of people of a template benchmark, at most."""
LINKS = ("father", "mother", "spouse", "child", "student")
Fact = tuple[str, str]
"""Name of a person, and a relation that is asked of it."""
Ask = Callable[[str, str, int], str]
"""(name, relation, style) to a clause."""
STYLES = ("ordinary English", "free English")


@dataclass(frozen=True)
class Written:
    """A question that a writer wrote, and what it asks.

    Attributes:
        group: its kind.
        asking: the question with the facts that it should ask for.
        asked: facts that it asks for; None for all.
        other: what else it asks for.
    """

    group: str
    asking: QuestionToCheck
    asked: frozenset[Fact] | None = None
    other: tuple[str, ...] = ()


def list_facts(asking: QuestionToCheck) -> list[Fact]:
    """Facts of a question as writers get them, once each; the link is a relationship."""
    return list(dict.fromkeys(_fact(t, asking) for t in asking.facts))


def _fact(triple: Any, asking: QuestionToCheck) -> Fact:
    relation = describe_fact(triple, asking.link).removesuffix(f" of {triple.name}")
    return triple.name, relation


def compose(clauses: Sequence[str]) -> str:
    """One question of clauses."""
    text = ", ".join(clauses[:-1]) + ", and " + clauses[-1] if len(clauses) > 1 else clauses[0]
    return f"{text[0].upper()}{text[1:]}?"


def read_bank() -> dict[str, list[str]]:
    """Wordings by relation: those of the scripted writers where there are any, else our own."""
    if cases := os.environ.get("CITEFORGE_CASES"):
        sys.path.insert(0, str(Path(cases) / "writers"))
        import brain

        return {relation: list(ways) for relation, ways in brain.BANK.items()}
    return tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))


def ask_from(bank: dict[str, list[str]], name: str, relation: str, style: int) -> str:
    """One clause of a bank: in ordinary (0) or free (1) English; a link by what it is."""
    if relation.startswith("relationship to "):
        return f"who was {relation.removeprefix('relationship to ')} to {name}"
    ways = bank.get(relation)
    return ways[style].format(n=name) if ways else f"what was {name}'s {relation}"


def _exchange(text: str, one: str, other: str) -> str:
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def good(asking: QuestionToCheck, ask: Ask) -> Iterator[Written]:
    """Questions that are right, in either style."""
    for style, group in enumerate(STYLES):
        text = compose([ask(*fact, style) for fact in list_facts(asking)])
        yield Written(f"good: {group}", replace(asking, question=text))


ADDED = ("what was {n}'s favourite food", "who were {n}'s enemies", "how did {n} like to travel")
PREMISES = (" after the scandal", " once the war was lost", " despite a long illness")
LEADS = ("According to the text, ", "Sure, here is one: ", "Tell me ", "Is it known ")
KIN = ("brother", "teacher", "neighbour")


def bad(asking: QuestionToCheck, ask: Ask, draw: random.Random) -> Iterator[Written]:
    """Questions with one fault each, in ordinary English."""
    facts = list_facts(asking)
    clauses = [ask(*fact, 0) for fact in facts]
    whole = compose(clauses)
    names = list(dict.fromkeys(n for n, _ in facts))
    at = draw.randrange(len(facts))
    name, relation = facts[at]
    rest, others = clauses[:at] + clauses[at + 1 :], frozenset(facts[:at] + facts[at + 1 :])

    def write(group: str, text: str, asked: Any = None, *other: str) -> Written:
        return Written(f"bad: {group}", replace(asking, question=text), asked, other)

    if rest:
        yield write("one fact left out", compose(rest), others)
        remembered = [*rest, f"how is {name} remembered"]
        yield write("one left out, vaguely hinted at", compose(remembered), others, "memory")
    added = draw.choice(ADDED).format(n=name)
    yield write("adds what no graph has", compose([*clauses, added]), None, added)
    more = next((t for t in asking.shown if _is_other(t, asking)), None)
    if more is not None:
        text = compose([*clauses, ask(more.name, more.relation, 0)])
        yield write("adds a shown fact", text, None, more.relation)
    turned = dict(zip(names, reversed(names), strict=True))
    own = {(turned[n], r) for n, r in facts}
    is_link = relation.startswith("relationship to ")
    plain = {fact for fact in facts if not fact[1].startswith("relationship to ")}
    if len(names) == 2 and {(turned[n], r) for n, r in plain} != plain:
        text = compose([_exchange(c, *names) for c in clauses])
        yield write("people exchanged", text, frozenset(own))
    if len(names) == 2 and not is_link and (turned[name], relation) not in facts:
        text = compose([*rest, ask(turned[name], relation, 0)])
        owners = frozenset(others | {(turned[name], relation)})
        if all(n in text for n in names):
            yield write("one fact of the other one", text, owners)
            yield from _mistaken(asking, facts, clauses, at, turned[name], owners)
    kin = clauses[at].replace(name, f"{name}'s {draw.choice(KIN)}")
    yield write("of a relative", compose([*rest, kin]), others, "a relative")
    yield write("premise", whole[:-1] + draw.choice(PREMISES) + "?", None, "premise")
    yield write("preamble or request", draw.choice(LEADS) + whole[0].lower() + whole[1:])
    yield write("value said", f"{whole[:-1]}, {draw.choice(asking.facts).value} aside?")
    yield write("asked twice", compose([*clauses, ask(name, relation, 1)]))
    denied = re.sub(rf"({re.escape(name)})(?!['\w])", r"\1 never", clauses[at], count=1)
    if denied != clauses[at]:
        yield write("denied", compose([*rest, denied]), others, "denied")
    named = "|".join(map(re.escape, names))
    stated = re.sub(rf"\b(was|were|is|are|did) ((?:{named})(?:'s? \w+)?)(?!\w)", r"\2 \1", whole)
    if stated != whole:
        yield write("order of a statement", stated)
    both = " and ".join(names)
    yield write("yes or no", f"Did {both} have all of these: {', '.join(r for _, r in facts)}?")
    yield write("vague", f"What should one know about {both}?", frozenset(), "everything")
    yield write("German", f"Was weiß man über {both}, und wie lebten und starben sie?")


def _mistaken(
    asking: QuestionToCheck, facts: list[Fact], clauses: list[str], at: int, other: str,
    asked: frozenset[Fact],
) -> Iterator[Written]:  # fmt: skip
    """A clause moved behind one about the other person, with "he" or "she" for its name."""
    sexes = {t.name: t.value for t in asking.shown if t.relation == "sex or gender"}
    name = facts[at][0]
    theirs = [c for i, c in enumerate(clauses) if facts[i][0] == other]
    if not theirs or sexes.get(other) not in ("male", "female"):
        return
    he, his = {"male": ("he", "his"), "female": ("she", "her")}[sexes[other]]
    said = clauses[at].replace(f"{name}'s", his).replace(name, he)
    own = [c for i, c in enumerate(clauses) if facts[i][0] == name and i != at]
    if own:
        text = compose([*own, *theirs, said])
        yield Written("bad: pronoun of the other one", replace(asking, question=text), asked)


def _is_other(triple: Any, asking: QuestionToCheck) -> bool:
    """Whether a shown fact is of a relation that a question does not ask of its person."""
    known = {(t.qid, t.relation) for t in asking.facts}
    quiet = ("instance of", "sex or gender", "given name", "family name", "child", "father")
    is_link = asking.link is not None and triple.relation == asking.link.relation
    return (
        (triple.qid, triple.relation) not in known
        and triple.relation not in quiet
        and (not is_link)
    )


def scripted(asking: QuestionToCheck) -> Iterator[Written]:
    """Questions of the writers in CITEFORGE_CASES, with the faults that they know."""
    import brain

    facts = list_facts(asking)
    kinds = ("omit omit2 leak leakpart leakmean add add2 statement statementq german germanpure "
             "yesno swap meta preamble twice").split()  # fmt: skip
    body = " ".join(f"{t.name}'s {t.relation} is {t.value}." for t in asking.facts)
    for kind in kinds:
        whole = compose([brain.ask(*fact, 0) for fact in facts])
        text = brain.poor_specific(kind, facts, whole, body)
        asked, other = brain.REG.get(text, (facts, []))
        if text != whole and not (kind == "swap" and {*asked} == {*facts}):
            question = replace(asking, question=text)
            yield Written(f"bad: {kind} (scripted)", question, frozenset(asked), tuple(other))
    mixed = compose([brain.ask(*f, 1 + brain.h(*f) % 2) for f in facts])
    yield Written("good: mixed (scripted)", replace(asking, question=mixed))
    names = list(dict.fromkeys(t.name for t in asking.facts))
    for kind in "offtopic beyond german long yesno statementq preamble vague leakmean".split():
        general = f"How did the lives of {' and '.join(names)} compare?"
        text = brain.poor_general(kind, names, general, body)
        question = replace(asking, question=text, form="general")
        other = ("colour",) if kind == "beyond" else ()
        asked = frozenset() if kind in ("offtopic", "yesno", "statementq") else None
        yield Written(f"bad: general, {kind} (scripted)", question, asked, other)


def read_pairs() -> list[QuestionToCheck]:
    """Template questions of a graph, with their gold; questions on one person are left out."""
    from citeforge.builders.kalma.build import build_kalma
    from citeforge.package.package import Package
    from citeforge.plugins.audit.questions import read_questions
    from citeforge.schemas.recipes.kalma import KalmaRecipe

    real = os.environ.get("CITEFORGE_REAL_DATA")
    graph = f"{real}/biokalma/people.nt.gz" if real else HERE.parent / "examples/people/graph.ttl"
    links = LINKS if real else ("father", "spouse", "child")
    recipe = KalmaRecipe(kg=f"file:{graph}", pairs_from_kg=links, limit=PAIRS, licence="CC0-1.0")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "people"
        build_kalma(recipe, RunOptions(out=out))
        return [a for _, a, pair in read_questions(Package(out), "specific") if pair is not None]


def write_all(askings: Sequence[QuestionToCheck]) -> list[Written]:
    """All questions that are measured."""
    ask = partial(ask_from, read_bank())
    rows: list[Written] = []
    for i, asking in enumerate(askings):
        rows += good(asking, ask)
        rows += bad(asking, ask, random.Random(i))
        if os.environ.get("CITEFORGE_CASES"):
            rows += scripted(asking)
    return rows


@contextmanager
def oracle(rows: Sequence[Written]) -> Iterator[str]:
    """Serve a checker that knows what each question asks; yields its address."""
    truth = {row.asking.question: row for row in rows}

    class Handler(BaseHTTPRequestHandler):
        """Answers chat completions."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            quoted = re.findall(r"<quote-([0-9a-f]+)>\n(.*?)\n</quote-\1>", prompt, re.DOTALL)
            question, facts = (text for _, text in quoted[:2])
            content = json.dumps(_answer(truth[question], facts.splitlines()))
            message = {"role": "assistant", "content": content}
            reply = {
                "id": "c",
                "object": "chat.completion",
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def _answer(row: Written, lines: Sequence[str]) -> dict[str, Any]:
    """Numbers of the facts that a question asks for, as a model would list them."""
    facts = [re.match(r"(\d+)\. (.+) of (.+?): ", line) for line in lines]
    asks_link = row.asking.link in row.asking.facts
    numbers = []
    for match in filter(None, facts):
        is_link = match[2].startswith("relationship to ")
        known = (match[3], match[2])
        if (row.asked is None and (asks_link or not is_link)) or known in (row.asked or ()):
            numbers.append(int(match[1]))
    return {"asked": numbers, "other": list(row.other)}


def count_kept(rows: Sequence[Written], check: QuestionCheck, show: bool = False) -> Counter[str]:
    """Number of questions kept, by group; all refused good ones and kept bad ones are shown."""
    kept = Counter[str]()
    found = check.check([row.asking for row in rows])
    for row, result in zip(rows, found, strict=True):
        fault = result.find_fault(row.asking)
        kept[row.group] += fault is None
        is_bad = row.group.startswith("bad")
        if show and is_bad == (fault is None):
            print(f"  {row.group}: {row.asking.question}\n      {fault or 'kept'}")
    return kept


def measure(rows: Sequence[Written]) -> dict[str, Counter[str]]:
    """Questions kept by each check: the rules, with nearest wordings, with a checker that knows."""
    domain = load_domain("people")
    kept = {}
    rules = make_question_check(domain, "rule", None, RunOptions())
    kept["rules"] = count_kept(rows, rules, "-v" in sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        rules.compare_with(run_embedder("offline", RunOptions()), Path(folder))
        kept["nearest wordings"] = count_kept(rows, rules, "-v" in sys.argv)
    with oracle(rows) as url, tempfile.TemporaryDirectory() as folder:
        run = RunOptions(out=Path(folder) / "x", base_url=url)
        check = make_question_check(domain, "openai:oracle", None, run)
        kept["oracle"] = count_kept(rows, check)
    return kept


def read_published(folder: Path) -> list[Written]:
    """Published questions of BioKaLMA; all facts of their graphs may be asked for."""
    rows = []
    for form in ("specific", "general"):
        for item in read_entries(folder / f"{form}.json"):
            triples = tuple(t for graph in item.graphs for t in graph.triples)
            text = item.question.removeprefix("question: ")
            asking = QuestionToCheck(text, triples, triples, None, form)
            rows.append(Written(form, asking))
    return rows


def print_published(rows: Sequence[Written], folder: Path) -> None:
    """Print how many published questions the rules read whole, and what stops them at the rest."""
    check = make_question_check(load_domain("people"), "rule", None, RunOptions())
    for name in ("rules", "nearest wordings"):
        if name != "rules":
            check.compare_with(run_embedder("offline", RunOptions()), folder)
        found = check.check([row.asking for row in rows])
        for form in ("specific", "general"):
            results = [r for r, row in zip(found, rows, strict=True) if row.group == form]
            faults = Counter(_first_words(r.form_fault) for r in results if r.form_fault)
            whole = sum(not (r.form_fault or r.undecided) for r in results)
            n_open = sum(r.is_undecided for r in results)
            print(
                f"BioKaLMA, {form}, {name}: {len(results)} questions, read whole {whole}, "
                f"open {n_open}, of another form {faults.total()}: {faults.most_common(5)}"
            )


def _first_words(fault: str) -> str:
    """Kind of a fault, without what it is about."""
    return re.split(r"[:'\"]", fault)[0].strip()


def main() -> None:
    """Print, for each kind of question, how many of how many are kept."""
    rows = write_all(read_pairs())
    print_table(rows, measure(rows))
    if real := os.environ.get("CITEFORGE_REAL_DATA"):
        with tempfile.TemporaryDirectory() as folder:
            print_published(read_published(Path(real) / "biokalma"), Path(folder))


def print_table(rows: Sequence[Written], kept: dict[str, Counter[str]]) -> None:
    """Print a line per group: how many there are, and how many each check keeps."""
    total = Counter(row.group for row in rows)
    print(f"| questions | number | {' | '.join(kept)} |")
    print("| --- " * (2 + len(kept)) + "|")
    for group in sorted(total):
        counts = " | ".join(str(by[group]) for by in kept.values())
        print(f"| {group} | {total[group]} | {counts} |")


if __name__ == "__main__":
    main()
