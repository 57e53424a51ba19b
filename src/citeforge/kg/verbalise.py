"""Triples as sentences: three templates by the relation's form (KaLMA, appendix A.3), and one more
for verbs that take an object."""

import re
from functools import cache

from jinja2 import Template, TemplateError

from citeforge.engines.text.template_bounds import BoundedEnvironment, bounded_text
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Triple
from citeforge.schemas.errors import InputError

FORMS = ("noun", "role", "participle", "active")
_PREPOSITIONS = ("at", "by", "for", "in", "from", "to", "on", "with")
# Names that end or begin in these nouns; nouns that are surnames, too, are not among them.
_ARTICLE = re.compile(
    r"(?!The\b|.* on the )(?:(?:\S+ )*(?:War|Battle|Siege|Treaty|University|Academy|Institute"
    r"|Kingdom|Republic|Duchy|Order|Legion|House|Church|Ministry|Council|Bank|Museum"
    r"|Party|Society|League) of .+"
    r"|(?:\S+ )*(?:Prize|Medal|Award|Cup|Championship) (?:in|for|of) .+"
    r"|(?:\S+ )+(?:Wars?|Revolution|Uprising|Rebellion|Crisis|Party|Movement|Renaissance|Empire"
    r"|Republic|Kingdom|Dynasty|Congress|Navy|Army|Air Force|Corps|Society|Academy|Institute"
    r"|Prize|Medal|Award|Museum|Orchestra|Orthodox Church|Catholic Church|Islands|Emirates)"
    r"|United (?:Kingdom|States)\b.*|Soviet Union|Netherlands|Philippines|Bahamas)$"
)
_DEFAULTS = {
    "noun": "{{ name }}'s {{ relation }} is {{ value }}.",
    "role": "{{ name }} is a {{ relation }} {{ value }}.",
    "participle": "{{ name }} was {{ relation }} {{ value }}.",
    "active": "{{ name }} {{ relation }} {{ value }}.",
}


def form_of(relation: str, domain: Domain) -> str:
    """Form of a relation's label.

    The domain's own word, else: ``role`` when it ends in "of" (member of), ``participle`` when it
    begins with a participle and ends in a preposition (educated at), else ``noun`` (occupation).
    """
    if relation in domain.forms:
        return domain.forms[relation]
    words = relation.split()
    if len(words) == 2 and words[-1] == "of":
        return "role"
    if len(words) > 1 and words[0].endswith(("ed", "en")) and words[-1] in _PREPOSITIONS:
        return "participle"
    return "noun"


def verbalise(triple: Triple, domain: Domain) -> str:
    """One sentence that says the triple.

    Raises:
        InputError: the domain's template cannot be filled in, or goes beyond the bounds.
    """
    form = form_of(triple.relation, domain)
    template = domain.templates.get(form, _DEFAULTS[form])
    values = {
        "name": with_article(triple.name), "relation": triple.relation,
        "value": with_article(triple.value),
    }  # fmt: skip
    try:
        text = bounded_text(_compiled(template), values)
    except TemplateError as error:
        raise InputError(f"cannot be filled in ({error})", field=f"templates.{form}") from error
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}" if text.startswith("the ") else text


def with_article(name: str) -> str:
    """A name as it stands in a sentence: ``the Greek War of Independence``, ``Lord Byron``."""
    return f"the {name}" if _ARTICLE.match(name) else name


@cache
def _compiled(template: str) -> Template:
    return BoundedEnvironment().from_string(template)
