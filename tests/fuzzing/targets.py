"""Which files are damaged, and which commands then read them."""

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

RAGE = "--embedder offline --n-seemingly 2 --n-irrelevant 2 --out out"
OUTSIDE = "--measures rage,ALCE.CitRec,NLI.rec,ROUGE-Lsum.F --judge lexical"


@dataclass(frozen=True)
class Target:
    """A kind of file with its readers.

    Attributes:
        name: for cases and reports.
        files: files or folders of the world that a case gets copies of.
        commands: command lines, run in the case's folder; ``{w}`` is the world.
        damaged: patterns of relative names, one of which is damaged.
        signed: whether the manifest of a damaged package may be made to agree with it again.
    """

    name: str
    files: tuple[str, ...]
    commands: tuple[str, ...]
    damaged: tuple[str, ...] = ("*",)
    signed: bool = False

    def candidates(self, case: Path) -> list[Path]:
        """Files of a case that may be damaged, in a fixed order."""
        result = [p for p in sorted(case.rglob("*")) if p.is_file()]
        return [
            p for p in result
            if any(fnmatch(p.relative_to(case).as_posix(), d) for d in self.damaged)
        ]  # fmt: skip


def _read(name: str, file: str, *commands: str) -> Target:
    """One file, alone."""
    return Target(name, (file,), tuple(c.replace("@", file) for c in commands), (file,))


def _source(name: str, spec: str, *files: str, options: str = RAGE) -> Target:
    return Target(name, files, (f"build rage --source {spec} {options}",))


def _submission(name: str, file: str, benchmark: str, scored: str) -> Target:
    b = f"--benchmark {{w}}/{benchmark}"
    return Target(
        name, (file,),
        (f"check {file} {b}" + (" --context full" if "--context" in scored else ""),
         f"score {file} {b} {scored} --out out.json",
         f"score {file} {b} {scored} --protocol reference --segmenter nupunkt",
         *((f"export sft {{w}}/facts --submission {file} --min-f1 0.1 --out sft",)
           if benchmark == "facts" else ())),
    )  # fmt: skip


_CORRECTED = (
    "score {w}/random.jsonl --benchmark {w}/facts --measures ALCE.CitRec --judge lexical --labels @"
)


def _package(name: str, *more: str) -> Target:
    return Target(
        f"package-{name}", (name,),
        (f"verify {name}", f"build --print-recipe --from {name}", f"show {name}", f"export prompts {name} --out prompts.jsonl --context all",
         f"export card {name}", f"audit {name} --judge lexical",
         f"compare {name} {name} --out c.json",
         *(m.replace("@", name) for m in more)),
        signed=True,
    )  # fmt: skip


_SCORES = (
    "report scores/random.json scores/top-1.json --out r.html",
    "report scores/random.json scores/top-1.json",
    "report scores/top-1.json scores/random.json --format latex",
    "report scores/random.json --format csv --out r.csv",
    "report scores/random.json scores/top-1.json --robustness",
    "report scores/random.json --format json --out r.json",
    "compare scores/random.json scores/top-1.json",
    "report scores/random.json scores/top-1.json --measures CiteP,rage --best bold --against random "
    "--significance + --out t.tex",
    "report scores/random.json scores/top-1.json --per-context --measures CiteR --out t.md",
    "report scores/random.json scores/top-1.json --best bold --against top-1 --out t.csv",
    "compare scores/random.json scores/top-1.json --against random --across contexts,judges "
    "--out c.html",
    *(
        f"compare scores/random.json scores/top-1.json --measures rage --out c.{ending}"
        for ending in ("csv", "json", "tex", "md")
    ),
    "gate scores/random.json --baseline scores/top-1.json --out g.xml --out g.md --out g.json",
    "labels plan scores/random.json --half-width 5 --out plan.json",
    "labels plan scores/random.json --half-width 9",
    "leaderboard build --benchmark {w}/facts --scores scores --out site",
    "export every-eval-ever scores --out records --model org/m",
    "labels export scores/random.json --task citation-support --out sheet.csv",
    "labels export scores/random.json --task utility --sample 2 --out sheet.json",
    "labels meta-eval --judge lexical --labels {w}/labels.jsonl --scores scores/random.json "
    "--scores scores/top-1.json",
)
_LABELLED = (
    "report corrected/one.json --out r.html",
    "report corrected/one.json --format latex",
    "report corrected/one.json --format csv",
    "report corrected/one.json --plot calibration --out r.svg",
    "labels plan corrected/one.json --half-width 15 --out o.json",
    "compare corrected/one.json corrected/one.json",
    "leaderboard build --benchmark {w}/wide --scores corrected --out site",
)
_AUDITED = (
    "report {w}/scores/random.json --benchmark audited",
    "leaderboard build --benchmark audited --scores {w}/scores --out site",
    "labels export --task audit-negative --benchmark audited --sample 2 --out sheet.csv",
    "export card audited",
    f"build rage --source beir:{{w}}/beir {RAGE} --decided audited/audit.json",
)
_CELLS = (
    "report cells/label-blind.json cells/label-follower.json --out r.html",
    "report cells/label-blind.json cells/label-follower.json --format md",
    "report cells/label-follower.json --format latex",
    "compare cells/label-blind.json cells/label-follower.json",
    "leaderboard build --benchmark {w}/authorship --scores cells --out site",
)
_EXPORTS = tuple(
    f"export {name} @ --out out"
    for name in ("beir", "mteb", "trec", "rage-toolkit", "alce", "attrieval", "attributed-ir",
                 "hf-csv", "rl-prompts", "inspect", "lighteval")
)  # fmt: skip

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        _source("beir", "beir:beir", "beir"),
        _source("beir-skipping", "beir:beir", "beir", options=f"{RAGE} --skip-empty --skip-dangling"),
        _source("beir-gz", "beir:beir-gz", "beir-gz"),
        _source("beir-zip", "beir:beir-zip.zip", "beir-zip.zip"),
        _source("trec", "trec:trec", "trec"),
        _source("miracl", "miracl:miracl", "miracl"),
        _source("marco", "attrieval:marco.jsonl", "marco.jsonl"),
        _source("marco-saved", "attrieval:marco", "marco"),
        _source("mteb", "mteb:mteb", "mteb"),
        _source("rage-layout", "rage:facts", "facts"),
        Target("hagrid", ("hagrid.jsonl",), (
            "build hagrid --source hagrid:hagrid.jsonl --out out",
            f"build rage --source hagrid:hagrid.jsonl {RAGE}",
        )),
        *(
            Target(n, (f"{n}.json",), (
                f"build alce --source alce:{n}.json --out out",
                f"build alce --source alce:{n}.json --corpus beir:{{w}}/beir --chunk 9 --out out",
                f"build rage --source alce:{n}.json {RAGE} --exclude-answers --allow-no-relevant",
            ))
            for n in ("asqa", "qampari")
        ),
        _read("eli5", "eli5.json", "build alce --source alce:@ --out out"),
        Target("kalma-published", ("specific.json", "general.json", "minimum.json"), (
            "build kalma --source kalma:specific.json --general general.json --gold minimum.json "
            "--out out",
            "build kalma --source kalma:specific.json --out out",
        )),
        *(
            Target(n, (n,), (
                f"build kalma --kg file:{n} --pairs-from-kg spouse --limit 2 --min-facts 1 --out out",
                f"kg snapshot --kg file:{n} --entities {{w}}/entities.txt --out out.nt",
                f"kg link --kg file:{n} --questions {{w}}/questions.jsonl --out links.jsonl",
            ))
            for n in ("graph.ttl", "graph.nt", "graph.nt.gz")
        ),
        _read("domain", "people.yaml",
              "build kalma --kg file:{w}/graph.ttl --domain @ --pairs-from-kg spouse --limit 2 "
              "--min-facts 1 --out out"),
        _read("plain-domain", "friends.yaml", "kg profile --kg file:{w}/friends.ttl --domain @"),
        _read("plain-graph", "friends.ttl", "kg profile --kg file:@ --domain {w}/friends.yaml"),
        *(
            _read(n, n, "build kalma --kg file:{w}/graph.ttl --pairs @ --min-facts 1 --out out")
            for n in ("stated.jsonl", "stated.csv")
        ),
        Target("vectors", ("vectors",), (
            f"build rage --source beir:{{w}}/beir --limit 6 {RAGE.replace('--embedder offline', '')}"
            " --vectors vectors/passages.npy --query-vectors vectors/queries.parquet"
            " --vectors-model x",
        )),
        *(
            Target(f"passages-{n}", (n,), (
                f"build rage --source beir:{{w}}/beir --limit 6 {RAGE} --extra-corpus corpus:{n} "
                "--extra-prefix x --skip-empty",
            ))
            for n in ("passages.jsonl", "passages.parquet")
        ),
        Target("documents", ("documents",), (
            f"build rage --source beir:{{w}}/beir --limit 6 {RAGE} --extra-corpus folder:documents",
        )),
        *(_read(n, n, "build @ --out out") for n in ("recipe.yaml", "recipe.json")),
        _read("entities", "entities.txt", "kg snapshot --kg file:{w}/graph.ttl --entities @ --out o.nt"),
        _read("questions", "questions.jsonl", "kg link --kg file:{w}/graph.ttl --questions @ --out o"),
        _read("questions-json", "specific.json",
              "kg link --kg file:{w}/graph.ttl --questions @ --out o"),
        *(
            _submission(f"answers-{n}", n, "facts", m)
            for n, m in (
                ("facts.jsonl", OUTSIDE), ("facts.jsonl.gz", OUTSIDE), ("own.jsonl", OUTSIDE),
                ("result.json", OUTSIDE), ("attributed-ir.csv", OUTSIDE),
                ("response_info.csv", OUTSIDE), ("rag24.jsonl", OUTSIDE), ("rag25.jsonl", OUTSIDE),
                ("ragtime26.jsonl", OUTSIDE), ("dragun25.jsonl", OUTSIDE),
                ("outputs", OUTSIDE), ("log.eval", OUTSIDE),
                *((f"vendors-{v}.jsonl", "--measures ALCE.CitRec --judge lexical")
                  for v in ("anthropic", "openai", "gemini", "langchain")),
                ("vendors-reports.jsonl", "--measures fact --judge lexical"),
            )
        ),
        _submission("answers-hagrid", "cited.jsonl", "hagrid", "--judge lexical"),
        _submission("answers-asqa", "asqa.jsonl", "asqa", "--judge lexical"),
        _submission("answers-authorship", "authorship.jsonl", "authorship", ""),
        _submission("answers-position", "position.jsonl", "position", ""),
        _submission("answers-deflection", "deflection.jsonl", "deflection", ""),
        _submission("answers-faithfulness", "faithful.jsonl", "faithfulness", ""),
        _submission("answers-kalma", "kalma.jsonl", "kalma", "--judge lexical"),
        _submission("answers-kalma-csv", "answers.csv", "kalma", "--judge lexical --context full"),
        Target("scores", ("scores",), _SCORES),
        _read("gate-policy", "gate.yaml",
              "gate {w}/scores/random.json --baseline {w}/scores/top-1.json --policy @"),
        Target("cells", ("cells",), _CELLS),
        Target("leaderboard", ("board",), (
            "leaderboard build --boards board --out site",
            "leaderboard add --boards board --check", "leaderboard add --boards board",
            "leaderboard add board/submissions/facts/random.jsonl --boards board --replace",
        ), ("*.yaml", "*scores/*.json", "*submissions/*.jsonl", "*history/*.jsonl")),
        Target("published", ("published",), (
            "reproduce published/table.yaml --data published --out page.html",
            "reproduce published/table.yaml --data published --out page.md",
        ), ("*table.yaml", "*scores.csv")),
        Target("scores-corrected", ("corrected",), _LABELLED),
        Target("audit", ("audited",), _AUDITED, ("audited/audit.json",)),
        _read("labels-plan", "plan.json",
              "labels export {w}/corrected/one.json --task statement-support --queries @ "
              "--out ask.csv"),
        *(_package(kind, f"run {control} --benchmark @ --out r.jsonl", "run random --benchmark @ --out r.jsonl",
                   f"score {{w}}/{file} --benchmark @", f"check {{w}}/{file} --benchmark @")
          for kind, control, file in (("deflection", "deflection-aware", "deflection.jsonl"),
                                      ("faithfulness", "faithful", "faithful.jsonl"))),
        _package("facts", "show @ --query q01", "build --from @ --trust --out again --source beir:{w}/beir",
                 "build --from @ --keep --trust --out again --source beir:{w}/beir", "run random --benchmark @ --out r.jsonl", "bench --benchmark @ --systems random --out b",
                 "score {w}/facts.jsonl --benchmark @", "check {w}/facts.jsonl --benchmark @",
                 "build twins --benchmark @ --llm replay:{w}/twins.db --out out --keep-failed",
                 "build authorship --benchmark @ --k 3 --relevant any --out out",
                 "build authorship --benchmark @ --k 3 --candidates bm25 --relevant any --out out",
                 "build deflection --benchmark @ --k 3 --out out",
                 "build faithfulness --benchmark @ --k 3 --out out",
                 "labels export --task audit-negative --benchmark @ --out sheet.csv", *_EXPORTS),
        _package("golden", "show @ --query q1", "run random --benchmark @ --out r.jsonl", *_EXPORTS),
        _package("twins", "build authorship --twins @ --k 3 --relevant any --out out",
                 "labels export --task twin-relevant --benchmark @ --out sheet.csv"),
        _package("authorship", "run label-follower --benchmark @ --out r.jsonl",
                 "score {w}/authorship.jsonl --benchmark @"),
        _package("position", "run position-follower --benchmark @ --out r.jsonl",
                 "score {w}/position.jsonl --benchmark @"),
        _package("kalma", "show --trace @ --query Q902-Q903", "export kalma @ --out out",
                 "score {w}/kalma.jsonl --benchmark @ --judge lexical", "run random --benchmark @ --out r.jsonl"),
        _package("hagrid", "score {w}/cited.jsonl --benchmark @ --judge lexical",
                 "run gold --benchmark @ --out r.jsonl",
                 "labels meta-eval --judge lexical --benchmark @", *_EXPORTS),
        _package("asqa", "score {w}/asqa.jsonl --benchmark @ --judge lexical", *_EXPORTS),
        Target("sheet", ("sheet.csv", "sheet.csv.key.json"),
               ("labels import sheet.csv --key sheet.csv.key.json --out labels.jsonl",)),
        Target("studio", ("studio.json", "sheet.csv.key.json"),
               ("labels import studio.json --key sheet.csv.key.json --out labels.jsonl",)),
        Target("negatives", ("facts", "negatives.csv", "negatives.csv.key.json"),
               ("labels import negatives.csv --key negatives.csv.key.json --benchmark facts",),
               ("negatives*",)),
        _read("labels", "labels.jsonl",
              "labels meta-eval --judge lexical --labels @ --scores {w}/scores/random.json "
              "--scores {w}/scores/top-1.json", _CORRECTED),
        _read("labels-expertqa", "expertqa.jsonl", _CORRECTED,
              "labels plan {w}/random.jsonl --benchmark {w}/facts --judge lexical --half-width 9 --labels @"),
        Target("calibrate", ("facts", "expertqa.jsonl"),
               ("labels calibrate facts --labels expertqa.jsonl --judge lexical",),
               ("expertqa.jsonl",)),
        Target("calibrate-scores", ("wide", "corrected", "own-labels.jsonl"), (
            "labels calibrate wide --labels own-labels.jsonl --scores corrected/one.json --judge lexical",
        ), ("corrected/one.json", "own-labels.jsonl")),
        _read("labels-alce", "alce-human.json", _CORRECTED),
        Target("known-flaws", ("facts", "known-flaws.jsonl", "negatives.jsonl"),
               ("audit facts --known-flaws known-flaws.jsonl --strict",
                "audit facts --labels negatives.jsonl",
                "audit facts --strong-judge lexical --labels negatives.jsonl"),
               ("*.jsonl",)),
        _read("decided", "decided.json",
              f"build rage --source beir:{{w}}/beir {RAGE} --decided @"),
        _read("replay", "replay.jsonl", "llm import out.db @"),
        _read("replay-store", "twins.db", "llm stats @", "llm export @ --out o.jsonl", "llm forget @ f",
              "llm import @ {w}/replay.jsonl",
              "build twins --benchmark {w}/facts --llm replay:@ --out out --keep-failed"),
        _read("verdicts", "verdicts.db",
              "labels judge {w}/pairs.jsonl --judge lexical --verdicts @ --out o.jsonl"),
        _read("table", "table.jsonl", "labels judge {w}/pairs.jsonl --judge table:@ --out o.jsonl"),
        _read("judge-profile", "profile.yaml",
              "labels judge {w}/pairs.jsonl --judge openai:m --judge-profile @ --dry-run"),
        _read("pairs", "pairs.jsonl", "labels judge @ --judge lexical --out o.jsonl"),
        _read("prompts", "prompts.jsonl", "llm run @ --llm replay:{w}/answers.db --out o.jsonl"),
        _read("demonstrations", "demos.yaml",
              "run vanilla --benchmark {w}/facts --limit 1 --llm replay:{w}/answers.db --demos @ --out o.jsonl"),
        _read("label-sets", "labels.yaml",
              "build authorship --benchmark {w}/facts --labels @ --k 3 --relevant any --out out"),
        _read("run-file", "run.txt",
              "build authorship --benchmark {w}/facts --candidates @ --k 3 --relevant any --out out"),
        _read("template", "template.j2", "export prompts {w}/facts --template @ --out o.jsonl"),
    )
}  # fmt: skip
