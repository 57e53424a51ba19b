"""The command line that makes a benchmark again, from its manifest."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import ValidationError

from citeforge.schemas.config import RageConfig
from citeforge.schemas.manifest import Manifest


def command_of(manifest: Manifest) -> str | None:
    """The ``citeforge build`` command of a package, as a user would type it.

    Folders stand as their names: where a benchmark was built from is nobody's path. None when the
    manifest does not hold all choices, as that of a package which another program made.
    """
    maker = {
        "rage": _rage, "hagrid": _frozen, "alce": _frozen, "twins": _twins,
        "authorship": _authorship, "kalma": _kalma,
    }.get(manifest.kind)  # fmt: skip
    if manifest.config.get("hidden_gold"):
        return "citeforge publish … --hide-gold"
    if maker is None:
        return None
    try:
        words = ["citeforge", "build", manifest.kind, *maker(manifest)]
    except (LookupError, ValidationError):
        return None
    if manifest.licence and manifest.kind in ("rage", "hagrid", "alce", "kalma"):
        words += ["--licence", manifest.licence]
    return shlex.join([*words, "--out", manifest.name])


def _rage(manifest: Manifest) -> list[str]:
    c = RageConfig.model_validate(manifest.config)
    m = c.mining
    words = ["--source", c.source, "--embedder", c.embedder, "--seed", str(c.seed)]
    for flag, value in (
        ("--split", c.split), ("--extra-corpus", c.extra_corpus), ("--limit", c.limit),
        ("--embedder-revision", c.embedder_revision), ("--max-score", m.max_score),
        ("--margin", m.margin),
    ):  # fmt: skip
        words += [] if value is None else [flag, str(value)]
    words += ["--n-seemingly", str(m.seemingly_relevant), "--n-irrelevant", str(m.irrelevant)]
    words += ["--skip-top", str(m.skip_top)] if m.skip_top else []
    for x in c.mixtures:
        words += ["--mixture", f"{x.name}={x.relevant},{x.irrelevant},{x.seemingly_relevant}"]
    words += ["--corpus", c.corpus, "--base", str(c.base)]
    flags = {"--remine": c.remine, "--exclude-answers": m.exclude_answers,
             "--drop-self": m.drop_self, "--allow-no-relevant": c.allow_no_relevant,
             "--skip-empty": c.skip_empty, "--skip-dangling": c.skip_dangling,
             "--skip-contradictions": c.skip_contradictions,
             "--drop-suspects": c.drop_suspects}  # fmt: skip
    return words + [flag for flag, on in flags.items() if on]


def _frozen(manifest: Manifest) -> list[str]:
    c = manifest.config
    words = ["--source", c["source"]]
    words += ["--k", str(c["k"])] if manifest.kind == "alce" else []
    return words + (["--skip-empty"] if c["skip_empty"] else [])


def _twins(manifest: Manifest) -> list[str]:
    c = manifest.config
    a, t = c["attempts"], c["thresholds"]
    words = ["--benchmark", c["benchmark"], "--llm", _name(manifest.models, "twin author")]
    for name in c["contexts"]:
        words += ["--context", name]
    words += ["--attempts", str(a["limit"]), "--temperature", str(a["temperature"])]
    words += ["--temperature-step", str(a["step"])]
    words += ["--length-ratio", f"{t['shortest']},{t['longest']}"]
    words += ["--copy-similarity", str(t["copy_similarity"])]
    words += ["--ner", c["ner"]] if c.get("ner") else []
    words += _judge(manifest, "entailment judge")
    return words + (["--keep-failed"] if c["keep_failed"] else [])


def _authorship(manifest: Manifest) -> list[str]:
    c = manifest.config
    s, design = c["selection"], c["design"]
    origins = list(dict.fromkeys(
        x["relevant_origin"][0] + x["other_origin"][0] for x in design["cells"]
    ))  # fmt: skip
    source = "--benchmark" if origins == ["hh"] else "--twins"
    words = [source, c["benchmark"], "--origins", ",".join(origins)]
    known = ("human_llm", "person_machine", "names", "placebo")
    for labels in design["label_sets"]:
        name = labels["name"]
        words += ["--label-set", name] if name in known else ["--labels", f"{name}.yaml"]
    words += ["--candidates", c["candidates"], "--k", str(s["k"]), "--relevant", s["rule"]]
    words += ["--embedder", c["embedder"]] if c.get("embedder") else []
    words += [] if s["sample"] is None else ["--sample", str(s["sample"])]
    words += ["--exclude-answers"] if s["exclude_answers"] else []
    return [*words, "--base", str(manifest.grammar.base), "--seed", str(s["seed"])]


def _kalma(manifest: Manifest) -> list[str]:
    c = manifest.config
    limit = [] if c.get("limit") is None else ["--limit", str(c["limit"])]
    if "source" in c:
        words = ["--source", c["source"], *limit, "--seed", str(c["seed"])]
        for name in ("general", "gold"):
            words += [f"--{name}", c[name]] if c.get(name) else []
        return words
    spec = manifest.sources[0].spec.removeprefix("kg:")
    kind = "sparql" if spec.startswith("http") else "file"
    words = ["--kg", f"{kind}:{spec}"]
    words += ["--pairs", c["pairs"]] if c["pairs"] else ["--pairs-from-kg",
                                                         ",".join(c["pairs_from_kg"])]  # fmt: skip
    words += [*limit, "--writer", _name(manifest.models, "writer")]
    words += ["--perplexity", _name(manifest.models, "perplexity")]
    words += _judge(manifest, "judge of sentences")
    name = c["domain"]["name"]
    words += [] if name == "people" else ["--domain", f"{name}.yaml"]
    languages = c.get("languages", ["en"])
    words += [] if languages == ["en"] else ["--languages", ",".join(languages)]
    for flag in ("rounds", "alpha", "attempts"):
        words += [f"--{flag}", str(c["choices"][flag])]
    return [*words, "--seed", str(c["seed"])]


def _judge(manifest: Manifest, role: str) -> list[str]:
    return ["--judge", _name(manifest.models, role)] if role in manifest.models else []


def _name(models: dict[str, dict[str, Any]], role: str) -> str:
    return str(models.get(role, {}).get("name", "?"))
