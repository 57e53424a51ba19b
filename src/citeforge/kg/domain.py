"""Domains: their relations, and their words for questions and for sentences of triples.

Only ``data/people.yaml`` is specific to people.
"""

import tomllib
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment
from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from citeforge.engines.textfiles import read_yaml, validated, yaml_line
from citeforge.kg.clauses import Ask, LinkAsk, ThemeWording
from citeforge.kg.english import guess_label_form, with_article
from citeforge.kg.plain import (
    CLASS,
    DIRECT_IRI,
    ENTITY_IRI,
    INSTANCE_OF,
    INSTANCE_OF_LABEL,
    IriStart,
    PlainModel,
)
from citeforge.kg.values import is_iri
from citeforge.kg.wordings import read_wordings
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import Triple, relation_key
from citeforge.schemas.record import FrozenRecord


class Phrase(FrozenRecord):
    """The words that ask for a relation.

    Attributes:
        theme: theme of general questions that covers the relation; empty for the relation itself.
        ask: the clause of specific questions.
        many: the clause where several values are asked for; None for the same.
        variants: other clauses for ``ask``.
        variants_many: other clauses for ``many``.
    """

    theme: str = ""
    ask: Ask
    many: Ask | None = None
    variants: tuple[Ask, ...] = ()
    variants_many: tuple[Ask, ...] = ()

    @model_validator(mode="after")
    def _require_many(self) -> Self:
        """Raise an error if there are variants of a plural question clause, but no such clause."""
        if self.variants_many and self.many is None:
            raise ValueError("variants_many needs many")
        return self

    def wordings(self, is_many: bool) -> tuple[str, ...]:
        """List the question clauses for one or for several values of a relation; the default first.

        Args:
            is_many: whether several values are asked for.
        """
        if is_many and self.many is not None:
            return (self.many, *self.variants_many)
        return (self.ask, *self.variants)

    @property
    def all_wordings(self) -> tuple[str, ...]:
        """All question clauses that ask for a relation, for one value and for several."""
        return tuple(dict.fromkeys((*self.wordings(False), *self.wordings(True))))


class Living(FrozenRecord):
    """Rule by which questions speak of an entity in the present tense.

    Attributes:
        relation: whose value is a date.
        after: only entities with a later year.
        ended_by: relations that an entity of the past has.
    """

    relation: str
    after: int
    ended_by: tuple[str, ...]


class Phrasing(FrozenRecord):
    """Words for the questions that the template writer composes.

    Attributes:
        relations: label of a relation to its clause.
        themes: clauses of general questions, by theme.
        also: theme to relations of other themes that answer a general question for it, too; no
            question is made from them, and to cite them is right.
        theme_wordings: other clauses of general questions, by theme.
        link_asks: clauses that ask what connects two entities.
        links: relation to what its value is called beside the entity ("her husband"), by the
            value's sex; ``any`` for others.
        opener: the word that asks what the entity at the other end of the link is.
        sex: relation whose values choose pronouns.
        pronouns: value of it to (subject, possessive, object); ``any`` for all other entities.
        living: when the present is right; None for always.
    """

    relations: dict[str, Phrase] = {}
    themes: dict[str, Ask] = {}
    also: dict[str, tuple[str, ...]] = {}
    theme_wordings: dict[str, tuple[ThemeWording, ...]] = {}
    link_asks: tuple[LinkAsk, ...] = Field(default_factory=lambda: read_wordings().link_asks)
    links: dict[str, dict[str, str]] = {}
    opener: Literal["who", "what"] = "who"
    sex: str = ""
    pronouns: dict[str, tuple[str, str, str]] = {}
    living: Living | None = None

    @model_validator(mode="after")
    def _require_declared_themes(self) -> Self:
        """Raise an error if a topic (theme) of general questions is used but not declared."""
        for label, phrase in self.relations.items():
            if phrase.theme and phrase.theme not in self.themes:
                raise ValueError(f"{label}: {phrase.theme!r} is not among the themes")
        for theme in self.also:
            if theme not in self.themes:
                raise ValueError(f"also: {theme!r} is not among the themes")
        for theme in self.theme_wordings:
            if theme not in self.themes:
                raise ValueError(f"theme_wordings: {theme!r} is not among the themes")
        return self

    def theme_asks(self, theme: str, relations: Collection[str]) -> list[str]:
        """List question clauses that ask about a topic (theme) and suit the given relations.

        Args:
            theme: its name; one that is not declared has no clause.
            relations: labels of the relations that are asked for.
        """
        base = [self.themes[theme]] if theme in self.themes else []
        return base + [w.ask for w in self.theme_wordings.get(theme, ()) if w.fits(relations)]

    def theme_of(self, relation: str) -> str:
        """Get the topic (theme) of general questions that covers a relation; "" if none does."""
        phrase = self.phrase(relation)
        return "" if phrase is None else phrase.theme

    def answers_theme(self, relation: str, theme: str) -> bool:
        """Whether facts of a relation answer a general question on a topic (theme)."""
        also = map(relation_key, self.also.get(theme, ()))
        return self.theme_of(relation) == theme or relation_key(relation) in also

    def phrase(self, relation: str) -> Phrase | None:
        """Get the question clauses for a relation by its label; None if the domain has none."""
        return self.phrases_by_key.get(relation_key(relation))

    @cached_property
    def phrases_by_key(self) -> dict[str, Phrase]:
        """Clauses that ask for a relation, by its label as :func:`relation_key` normalises it."""
        return {relation_key(label): phrase for label, phrase in self.relations.items()}


def plain_phrase(relation: str, label_form: str) -> Phrase:
    """Make a generic question clause for a relation, from its label and grammatical form.

    Args:
        relation: its label.
        label_form: see :meth:`Domain.label_form`.
    """
    label = relation.replace("{", "(").replace("}", ")")
    if label_form == "participle":
        return Phrase(ask=f"who or what {{past}} {{who}} {label}")
    if label_form == "role":
        article = "an" if label[:1].lower() in "aeiou" else "a"
        return Phrase(ask=f"who or what {{was}} {{who}} {article} {label}")
    return Phrase(ask=f"what is known of {{whose}} {label}")


_DEFAULTS = {
    "noun": "{{ name }}'s {{ relation }} is {{ value }}.",
    "role": "{{ name }} is a {{ relation }} {{ value }}.",
    "participle": "{{ name }} was {{ relation }} {{ value }}.",
    "active": "{{ name }} {{ relation }} {{ value }}.",
}


@cache
def _compile(template: str) -> Template:
    """Compile a Jinja sentence template in a sandbox; a missing value raises an error."""
    return SandboxedEnvironment(undefined=StrictUndefined).from_string(template)


_DATA = Path(__file__).parent / "data"


@cache
def word_groups(name: str) -> tuple[tuple[str, ...], ...]:
    """Read groups of synonyms (relations or words) from ``data/NAME.toml``."""
    text = (_DATA / f"{name}.toml").read_text(encoding="utf-8")
    return tuple(map(tuple, tomllib.loads(text)["groups"]))


def _check_id(text: str) -> str:
    """Return an id such as ``Q5``; raise an error if an IRI cannot end in it."""
    if not text or not is_iri(f"http://a/{text}"):
        raise ValueError(f"{text[:80]!r} is not an id, such as Q5 or P31")
    return text


Id = Annotated[str, AfterValidator(_check_id)]


class Domain(FrozenRecord):
    """Configuration of a domain.

    Attributes:
        name: its name.
        model: the graph's: ``wikidata``, or ``plain`` RDF that ``plain`` maps.
        plain: how plain RDF is read; ids and IRIs then follow by themselves.
        entity_class: id of the class whose entities questions are about (``Q5``).
        entity_iri: what ids of entities begin with.
        direct_iri: what direct relations begin with.
        instance_of: id of the relation to an entity's class.
        min_name_parts: fewest words of a name that is looked up.
        titles: whether names of its entities are titles of works, which get no article ("Star
            Wars"); other names may ("the Greek War of Independence"). Then values get one only
            where they are no title for sure ("the United Kingdom").
        uninformative: labels of relations that no question asks for.
        single_valued: relations with one true value, each with words that state it.
        inverse: relation label to the label of its inverse.
        same_value: groups of relations; with the same value, two of one group state one fact.
        relation_words: names of relations in input files to their labels.
        forms: relation label to its form, where :meth:`label_form` would guess wrong.
        templates: Jinja templates of sentences, by form or writing task; see
            :mod:`citeforge.builders.kalma.writer_requests`.
        questions: how the template writer asks for its relations, or the name of the built-in
            domain whose words it takes; None for plain words.
        others: domains of other classes that a relation may lead to, by name or file; their
            entities are asked about in their words.
    """

    name: str
    model: Literal["wikidata", "plain"] = "wikidata"
    plain: PlainModel | None = None
    entity_class: Id
    entity_iri: IriStart = "http://www.wikidata.org/entity/"
    instance_of: Id = "P31"
    direct_iri: IriStart = "http://www.wikidata.org/prop/direct/"
    min_name_parts: int = Field(1, ge=1)
    titles: bool = False
    uninformative: tuple[str, ...] = ()
    single_valued: dict[str, tuple[str, ...]] = {}
    inverse: dict[str, tuple[str, ...]] = {}
    same_value: tuple[tuple[str, ...], ...] = Field(
        default_factory=lambda: word_groups("same_value")
    )
    relation_words: dict[str, str] = {}
    forms: dict[str, str] = {}
    templates: dict[str, str] = {}
    questions: Phrasing | None = None
    others: tuple["Domain", ...] = ()

    @property
    def phrasing(self) -> Phrasing:
        """Words for questions about the domain's entities; empty if it has none."""
        return self.questions or Phrasing()

    @field_validator("questions", mode="before")
    @classmethod
    def _load_words_of_other_domain(cls, value: Any) -> Any:
        """Replace the name of a built-in domain by the question words of that domain."""
        return load_domain(value).questions if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _set_ids_of_plain_rdf(cls, fields: Any) -> Any:
        """Fill in the ids and IRIs that plain RDF domains must have; raise an error for others."""
        if not isinstance(fields, dict) or fields.get("model") != "plain":
            return fields
        own: dict[str, Any] = {
            "entity_class": CLASS, "instance_of": INSTANCE_OF,
            "entity_iri": ENTITY_IRI, "direct_iri": DIRECT_IRI,
        }  # fmt: skip
        for name, value in own.items():
            if fields.get(name, value) != value:
                raise ValueError(f"{name} is not given with model: plain, which makes its own ids")
        words = fields.get("uninformative") or ()
        if isinstance(words, list | tuple) and INSTANCE_OF_LABEL not in words:
            own["uninformative"] = [*words, INSTANCE_OF_LABEL]
        return fields | own

    @model_validator(mode="after")
    def _require_plain_mapping(self) -> Self:
        """Raise an error for ``model: plain`` without an RDF mapping (``plain``), or vice versa."""
        if (self.model == "plain") != (self.plain is not None):
            raise ValueError("model: plain and the mapping `plain` go together")
        return self

    @field_validator("others", mode="before")
    @classmethod
    def _load_others(cls, others: Any) -> Any:
        """Replace each built-in domain's name in the field ``others`` by the (nested) domain."""
        known = list_built_in()
        if not isinstance(others, list | tuple):
            return others
        for name in others:
            if isinstance(name, str) and name not in known:
                raise ValueError(f"{name!r} is not a domain; there are {', '.join(known)}")
        return [_load_built_in(one) if isinstance(one, str) else one for one in others]

    @field_validator("others")
    @classmethod
    def _check_others(cls, others: tuple["Domain", ...], info: ValidationInfo) -> Any:
        """Raise an error for nested domains of another graph, or two domains for one class."""
        own = info.data
        if others and own.get("model") == "plain":
            raise ValueError("is for graphs in Wikidata's model, not for model: plain")
        for other in others:
            for name in ("entity_iri", "direct_iri", "instance_of"):
                if getattr(other, name) != own.get(name):
                    raise ValueError(f"the domain {other.name!r} has another {name}")
        classes = [own.get("entity_class"), *(other.entity_class for other in others)]
        if len(set(classes)) < len(classes):
            raise ValueError(f"two domains are of one class: {', '.join(map(str, classes))}")
        return others

    @field_validator("templates")
    @classmethod
    def _check_templates(cls, templates: dict[str, str]) -> dict[str, str]:
        """Return the sentence templates; raise an error if any is not valid Jinja."""
        environment = SandboxedEnvironment(undefined=StrictUndefined)
        for task, text in templates.items():
            try:
                environment.parse(text)
            except TemplateError as error:
                raise ValueError(f"{task} is not a Jinja template ({error})") from error
        return templates

    def inverses(self, relation: str) -> tuple[str, ...]:
        """List the labels of the relations that are declared inverse to a relation."""
        own = relation_key(relation)
        labels = [o for r, others in self.inverse.items() if relation_key(r) == own for o in others]
        labels += [r for r, others in self.inverse.items() if own in map(relation_key, others)]
        return tuple(dict.fromkeys(labels))

    def find_relation(self, name: str) -> str:
        """Get the domain's label for a relation that an input file names; unknown names stay."""
        own = relation_key(name)
        labels = (label for w, label in self.relation_words.items() if relation_key(w) == own)
        return next(labels, name)

    def label_form(self, relation: str) -> str:
        """Get the form of a relation's label: ``noun``, ``role``, ``participle`` or ``active``.

        It is the declared form, else what :func:`guess_label_form` guesses.
        """
        return self.forms.get(relation) or guess_label_form(relation)

    def name_in_text(self, name: str) -> str:
        """Write an entity's name with the article that it needs: ``the Siege of Acre``."""
        return name if self.titles else with_article(name)

    def verbalise(self, triple: Triple) -> str:
        """Write a knowledge graph triple as an English sentence (KaLMA, appendix A.3).

        Raises:
            InputError: the domain's template cannot be filled in, or goes beyond the bounds.
        """
        form = self.label_form(triple.relation)
        may_be_title = any(domain.titles for domain in (self, *self.others))
        template = self.templates.get(form, _DEFAULTS[form])
        values = {
            "name": triple.name if self.titles else with_article(triple.name, may_be_title),
            "relation": triple.relation, "value": with_article(triple.value, may_be_title),
        }  # fmt: skip
        try:
            text = _compile(template).render(values)
        except Exception as error:  # whatever an expression of the template does
            raise InputError(
                f"cannot be filled in ({error})", field=f"templates.{form}", code="bad-template"
            ) from error
        text = " ".join(text.split())
        return f"{text[:1].upper()}{text[1:]}" if text.startswith("the ") else text


def load_domain(name: str | Mapping[str, Any]) -> Domain:
    """Load a knowledge graph domain: a built-in name, a YAML file, or a file's content.

    Raises:
        InputError: no such file, not YAML, or a field is missing or unknown.
    """
    if not isinstance(name, str):
        return validated(Domain, dict(name), Path("domain"))
    if name in list_built_in():
        return _load_built_in(name)
    content, path = _read_file(name)
    others = content.get("others")
    if isinstance(others, list):
        content = content | {"others": [_read_other(o, path, i) for i, o in enumerate(others)]}
    return validated(Domain, content, path)


def list_built_in() -> list[str]:
    """List the names of the built-in knowledge graph domains."""
    return sorted(p.stem for p in _DATA.glob("*.yaml"))


def _read_file(name: str) -> tuple[dict[str, Any], Path]:
    """Read the YAML file of a knowledge graph domain: (its content, its path).

    Raises:
        InputError: no such file, or not YAML.
    """
    path = Path(name)
    if not name.endswith((".yaml", ".yml")) or not path.is_file():
        raise InputError(
            "is not a domain", path=name, code="missing-file",
            allowed=f"{', '.join(list_built_in())}, or a .yaml file",
        )  # fmt: skip
    return read_yaml(path), path


def _read_other(name: Any, path: Path, index: int) -> Any:
    """Read the domain file at ``others[index]`` of another's file; return other values as is.

    Args:
        name: of a built-in domain, or of a file beside the other one; other values are returned.
        path: file of the other domain.
        index: position in its list ``others``.

    Raises:
        InputError: there is no such domain.
    """
    if not isinstance(name, str):
        return name
    if name in list_built_in():
        return name
    if not (path.parent / name).is_file():
        raise InputError(
            f"has no domain {name!r} beside it", path=path, field=f"others.{index}",
            line=yaml_line(path, ("others", index)), code="missing-file",
            allowed=f"{', '.join(list_built_in())}, or a .yaml file",
        )  # fmt: skip
    content, file = _read_file(str(path.parent / name))
    return validated(Domain, {k: v for k, v in content.items() if k != "others"}, file)


@cache
def _load_built_in(name: str) -> Domain:
    """Load a built-in knowledge graph domain by its name."""
    path = _DATA / f"{name}.yaml"
    return validated(Domain, read_yaml(path), path)
