"""What a domain is: nothing in the code is specific to people but ``data/people.yaml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from jinja2 import TemplateError
from pydantic import Field, field_validator, model_validator

from citeforge.engines.io.textfiles import read_yaml, validated
from citeforge.engines.text.template_bounds import BoundedEnvironment
from citeforge.kg.phrasing import Phrasing
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
from citeforge.schemas.benchmarks.kg import relation_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.record import FrozenRecord

_DATA = Path(__file__).parent / "data"


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
        uninformative: labels of relations that no round picks.
        single_valued: relations that have one true value, with words that announce them.
        inverse: relation label to the label of its inverse.
        relation_words: words of input files to relation labels.
        forms: relation label to its form, where the rule of :mod:`verbalise` is wrong.
        templates: sentences by task; see :mod:`citeforge.builders.kalma.asking`.
        questions: how the template writer asks for its relations, or the name of the built-in
            domain whose words it takes; None for plain words.
    """

    name: str
    model: Literal["wikidata", "plain"] = "wikidata"
    plain: PlainModel | None = None
    entity_class: str
    entity_iri: IriStart = "http://www.wikidata.org/entity/"
    instance_of: str = "P31"
    direct_iri: IriStart = "http://www.wikidata.org/prop/direct/"
    min_name_parts: int = Field(2, ge=1)
    uninformative: tuple[str, ...] = ()
    single_valued: dict[str, tuple[str, ...]] = {}
    inverse: dict[str, tuple[str, ...]] = {}
    relation_words: dict[str, str] = {}
    forms: dict[str, str] = {}
    templates: dict[str, str] = {}
    questions: Phrasing | None = None

    @field_validator("questions", mode="before")
    @classmethod
    def _words_of_another(cls, value: Any) -> Any:
        return load_domain(value).questions if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _ids_of_plain(cls, fields: Any) -> Any:
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
    def _fits_together(self) -> Self:
        if (self.model == "plain") != (self.plain is not None):
            raise ValueError("model: plain and the mapping `plain` go together")
        beginnings = {"entity_class": self.entity_iri, "instance_of": self.direct_iri}
        for field, beginning in beginnings.items():
            name = getattr(self, field)
            if not name or not is_iri(beginning + name):
                raise ValueError(f"{field}: {name[:80]!r} is no id, such as Q5 or P31")
        return self

    @field_validator("templates")
    @classmethod
    def _are_templates(cls, templates: dict[str, str]) -> dict[str, str]:
        environment = BoundedEnvironment()
        for task, text in templates.items():
            try:
                environment.parse(text)
            except TemplateError as error:
                raise ValueError(f"{task} is not a Jinja template ({error})") from error
        return templates

    def inverses(self, relation: str) -> tuple[str, ...]:
        """Labels of relations that say the same the other way round."""
        own = relation_key(relation)
        labels = [o for r, others in self.inverse.items() if relation_key(r) == own for o in others]
        labels += [r for r, others in self.inverse.items() if own in map(relation_key, others)]
        return tuple(dict.fromkeys(labels))

    def relation_of(self, words: str) -> str:
        """Label of the relation that words of an input file mean, in any case; else the words."""
        own = relation_key(words)
        labels = (label for w, label in self.relation_words.items() if relation_key(w) == own)
        return next(labels, words)


def load_domain(name: str | Mapping[str, Any]) -> Domain:
    """A built-in domain (``people``), a YAML file, or what such a file holds.

    Raises:
        InputError: no such file, not YAML, or a field is missing or unknown.
    """
    if not isinstance(name, str):
        return validated(Domain, dict(name), Path("domain"))
    path = _DATA / f"{name}.yaml" if not name.endswith((".yaml", ".yml")) else Path(name)
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in _DATA.glob("*.yaml")))
        raise InputError("is no domain", path=name, allowed=f"{names}, or a .yaml file")
    return validated(Domain, read_yaml(path), path)
