"""Options of `citeforge build …` are the fields of the recipes, and the other way round."""

import re
import string
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citeforge.builders.recipe_files import read_recipe, recipe_text
from citeforge.cli.building import build
from citeforge.cli.catalogue import fill_names
from citeforge.cli.options import field_options, record_from
from citeforge.engines.running.runners import runner_flags
from citeforge.package.kinds import recipes
from citeforge.plugins.bundles.design import DeflectionRecipe
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.licences import HUB_LICENCES
from citeforge.schemas.recipes.answers import AlceRecipe
from citeforge.schemas.recipes.authorship import AuthorshipRecipe
from citeforge.schemas.recipes.base import Recipe, RunOptions
from citeforge.schemas.recipes.flags import Flag, command_words, fields_in, list_flags, nest_values
from citeforge.schemas.recipes.groups import FOLDER
from citeforge.schemas.recipes.rage import Mixture, RageRecipe
from citeforge.schemas.recipes.twins import TwinsRecipe
from conftest import refused

RECIPES = recipes()
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
# Folders and lists in one word: what the shell and the comma leave.
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8)
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "origins": st.lists(st.sampled_from(["hh", "hl", "lh", "ll"]), unique=True).map(tuple),
    "licence": st.sampled_from(sorted(HUB_LICENCES)),
    "extra_licence": st.sampled_from(sorted(HUB_LICENCES)),
    "min_facts": st.integers(1, 4),
    "max_facts": st.integers(8, 99),
    "length_ratio": st.tuples(st.floats(0.01, 1), st.floats(1, 9)),
}


def values(flag: Flag) -> st.SearchStrategy[Any]:
    """Legal values of an option."""
    low, high = flag.bounds.get("ge"), flag.bounds.get("le")
    if flag.field_path[-1] in SPECIAL:
        return SPECIAL[flag.field_path[-1]]
    if flag.choices:
        return st.sampled_from(flag.choices)
    if flag.type is bool:
        return st.booleans()
    if flag.type is int:
        return st.integers(
            -(10**12) if low is None else int(low), 10**12 if high is None else int(high)
        )
    if flag.type is float:
        floor = 1e-6 if "gt" in flag.bounds else -1e9 if low is None else low
        return st.floats(floor, 1e9 if high is None else high)
    one: st.SearchStrategy[Any] = NAMES.map(Path) if flag.type is Path else WORDS
    if flag.type is Mixture:
        sizes = st.integers(0, 9)
        one = st.builds(Mixture, name=NAMES, relevant=st.integers(1, 9), irrelevant=sizes,
                        seemingly_relevant=sizes)  # fmt: skip
    if flag.repeats:
        return st.lists(one, min_size=1, max_size=3, unique_by=lambda v: str(getattr(v, "name", v)),
                        ).map(tuple)  # fmt: skip
    return st.lists(NAMES, min_size=1, max_size=3).map(tuple) if flag.option.joined else one


@st.composite
def drawn(draw: st.DrawFn) -> Recipe:
    record = draw(st.sampled_from(list(RECIPES.values())))
    chosen = {}
    for flag in list_flags(record):
        if flag.field.is_required() or draw(st.booleans()):
            chosen[flag.field_path] = draw(values(flag))
    if record is AuthorshipRecipe:
        chosen |= {("twins",): None, ("benchmark",): Path("b")}
    if record is RageRecipe:
        chosen |= {("candidates",): None}
        names = ("vectors", "query_vectors", "vectors_model")  # all or none
        if None in [chosen.get((name,)) for name in names]:
            chosen |= {(name,): None for name in names}
        if len(chosen.get(("mixtures",)) or ()) > 1 or ("keep_from",) in chosen:
            chosen.pop(("hidden",), None)
        if ("pool", "judge") in chosen:
            chosen = {
                k: v for k, v in chosen.items() if k not in (("judging", "judge"), ("hidden",))
            }
        else:
            chosen = {k: v for k, v in chosen.items() if k[0] not in ("pool", "labels")}
    if record is DocumentsRecipe:
        if ("keep_from",) in chosen:
            chosen.pop(("decided_questions",), None)
        if ("seeds",) not in chosen:
            chosen.pop(("keep_seeds",), None)
        if ("shares", "single") in chosen:
            chosen[("shares", "single")] = max(1, chosen[("shares", "single")])
    if record is DeflectionRecipe:
        chosen[("refusals",)] = "rules:en"
    if record is AlceRecipe:
        writing = {("writing", "llm"): "openai:m", ("writing", "condense"): ("snippet",)}
        chosen |= {("corpus",): "beir:c", ("judging", "judge"): "lexical", **writing}
    return record.model_validate(nest_values(chosen))


@given(drawn())
def test_record_to_command_line_to_record(recipe: Recipe) -> None:
    command = click.Command("build", params=list(field_options(type(recipe))))
    context = command.make_context("build", command_words(recipe))
    assert record_from(type(recipe), context.params) == recipe


@given(drawn())
@example(TwinsRecipe(benchmark=Path("b"), llm="a\x85b", contexts=("\u2028", "\x85 \u2029")))
def test_record_to_file_to_record(tmp_path_factory: pytest.TempPathFactory, recipe: Recipe) -> None:
    path = tmp_path_factory.getbasetemp() / "recipe.yaml"
    path.write_text(recipe_text(recipe, fill_names), encoding="utf-8")
    assert read_recipe(path) == recipe
    path = path.with_suffix(".json")
    path.write_text(recipe.model_copy().model_dump_json(indent=2).replace(
        "{", f'{{"kind": "{recipe.kind}", ', 1), encoding="utf-8")  # fmt: skip
    assert read_recipe(path) == recipe


@pytest.mark.parametrize("kind", RECIPES)
def test_a_file_to_start_from_has_every_field_and_its_help(kind: str, tmp_path: Path) -> None:
    text = recipe_text(RECIPES[kind], fill_names)
    assert not re.search(r"^ *#.*\{[a-z]+\}", text, re.M)  # names of judges and their like
    for flag in list_flags(RECIPES[kind]):
        assert re.search(
            rf"# {re.escape(fill_names(flag.help))}.*\n *{flag.field_path[-1]}:", text
        ), flag
    (tmp_path / "r.yaml").write_text(text)
    needed = [f.field_path[0] for f in list_flags(RECIPES[kind]) if f.field.is_required()]
    if needed:
        with refused("missing-field", path=tmp_path / "r.yaml", field=needed[0]):
            read_recipe(tmp_path / "r.yaml")


def command_of(kind: str) -> click.Command:
    command = build.get_command(click.Context(build), kind)
    assert command is not None
    return command


@pytest.mark.parametrize("kind", RECIPES)
def test_every_field_is_an_option_of_its_command(kind: str) -> None:
    command = command_of(kind)
    shown = {o for p in command.params for o in p.opts if p.expose_value}
    recipe = RECIPES[kind]
    run = fields_in(RunOptions, FOLDER, *recipe.run_options)
    fields = {f.name for f in list_flags(recipe)}
    fields |= {f.name for f in list_flags(RunOptions) if f.field_path[0] in run}
    if "engine_options" in run:
        fields |= {f.name for f in runner_flags("engine_options")}
    assert shown == fields | ({recipe.show_option, recipe.plan_option} - {""})
    names = [o for p in command.params for o in p.opts]
    assert len(set(names)) == len(names)


def test_wrong_values_name_their_option() -> None:
    for given_, code, option in (
        ({"source": "beir:x", "mixtures": ("m",)}, "bad-option", "--mixture 'm'"),
        ({"source": "beir:x", "mixtures": ("m=1,0,0",) * 2}, "bad-option", "--mixture"),
        ({"source": "beir:x", "mining__margin": float("nan")}, "bad-option", "--margin"),
    ):
        with refused(code) as caught:
            record_from(RageRecipe, given_)
        assert option in str(caught.value)
    with refused("bad-option") as caught:
        record_from(RunOptions, {"price": "1"})
    assert "--price: expected IN,OUT per million tokens" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "line", "field"),
    [
        ("", "wrong-type", 1, None),
        ("- kind: rage", "wrong-type", 1, None),
        ("source: x\n", "missing-field", 1, "kind"),
        ("\nkind: wurst\n", "unknown-name", 2, "kind"),
        ("kind: {a: 1}\n", "unknown-name", 1, "kind"),
        ("kind: rage\nrecipe: 2\n", "wrong-version", 2, "recipe"),
        ("kind: rage\nsource: beir:x\nmining:\n  skip_top: 1\n  skip: 2\n",
         "unknown-field", 5, "mining.skip"),
        ("kind: rage\nsource: beir:x\nlimit: 0\n", "out-of-range", 3, "limit"),
        ("kind: rage\nsource: beir:x\nlimit: no\n", "out-of-range", 3, "limit"),
        ("kind: rage\n", "missing-field", 1, "source"),
        ("kind: rage\nsource: beir:x\nsource: y\n", "duplicate-key", 3, None),
        ("kind: rage\nsource: beir:x\nmixtures:\n- a=1,1,1\n- b=1\n",
         "wrong-value", 5, "mixtures.1"),
        ("kind: rage\nsource: [\n", "bad-yaml", 3, None),
        ("kind: twins\nbenchmark: b\nllm: m\nthresholds: {length_ratio: '2,1'}\n",
         "wrong-value", 4, "thresholds.length_ratio"),
        ("kind: authorship\n", "wrong-value", 1, ""),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_with_line_and_field(
    tmp_path: Path, text: str, code: str, line: int | None, field: str | None
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with refused(code, path=path, line=line, field=field):
        read_recipe(path)


def test_a_misspelt_field_suggests_another(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("kind: rage\nsource: beir:x\nsede: 5\n")
    with refused("unknown-field", path=path, line=3, field="sede") as caught:
        read_recipe(path)
    assert "(did you mean 'seed'?)" in str(caught.value)
    assert "known: name," in str(caught.value.allowed)


def test_errors_in_json_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{\n\t"kind": "rage",\n\t"source": "beir:x",\n\t"limt": 3\n}')
    with refused("unknown-field", path=path, line=4, field="limt"):
        read_recipe(path)
    # YAML knows no long keys: the error comes without a line.
    path.write_text('{"kind": "rage", "source": "beir:x", "' + "k" * 2000 + '": 3}')
    with refused("unknown-field", path=path, line=None, field="k" * 200):
        read_recipe(path)
