"""Triples as sentences: three templates by the relation's form (KaLMA, appendix A.3), and one more
for verbs that take an object."""

from __future__ import annotations

from functools import cache

from jinja2 import Template, TemplateError

from citeforge.engines.text.template_bounds import BoundedEnvironment, bounded_text
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Triple
from citeforge.schemas.errors import InputError

FORMS = ("noun", "role", "participle", "active")
_PREPOSITIONS = ("at", "by", "for", "in", "from", "to", "on", "with")
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
    values = {"name": triple.name, "relation": triple.relation, "value": triple.value}
    try:
        text = bounded_text(_compiled(template), values)
    except TemplateError as error:
        raise InputError(f"cannot be filled in ({error})", field=f"templates.{form}") from error
    return " ".join(text.split())


@cache
def _compiled(template: str) -> Template:
    return BoundedEnvironment().from_string(template)
