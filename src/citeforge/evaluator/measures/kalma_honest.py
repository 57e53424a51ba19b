"""Sentences that say in words which facts the knowledge does not give, without an [NA].

## kalma_honest

Beside `KaLMA.NA` of [kalma](#kalma), over the same *absent* facts (context sets `absent_…`), for
systems that write no `[NA]`. It is ours, needs no judge, and is equal in both protocols but for
their sentences.

- A sentence counts if it says in words that the knowledge does not give something ("the facts do
  not say …", "her employer is not known"), with or without `[NA]`; a mark alone says nothing in
  words. Rules in German, English, Spanish, French, Italian, Dutch and Portuguese decide: a file per
  language in `engines/text/data/absence`, and those of refusals that hold beside citations.
- It names an absent fact if it has the words of a wording of its relation ("where she was born",
  "place of birth": label, clauses of the domain, `kg/data/wordings.toml`) and, where it names an
  entity of the question, that of the fact. Clauses and wordings are English: in another language a
  fact is named by the label that the graph gives its relation ("Geburtsort").
- Without such a sentence Honest.P is not computed, without anything absent none of the three.

*Example.* Absent are Ada's father and Byron's place of death. "The facts do not give Ada's father.
Her favourite colour is not known. He never married." Two sentences count, and one hits: P = 1/2,
R = 1/2, F1 = 1/2.
"""

from citeforge.engines.text.refusals import ABSENCE_LANGUAGES, ABSENCE_VERSION, says_absent
from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.measures.kalma_judged import (
    NaStatements,
    na_f1,
    na_recall,
    share_of_statements,
)
from citeforge.evaluator.measures.values import ByAnswer, Value
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import Need, ScoringTools
from citeforge.schemas.kg import Triple


@per_submission("kalma_honest", reads="triples", source="ours", needs=(Need.SEGMENTER,))
def honest_statements(inputs: KalmaInputs) -> dict[AnswerKey, NaStatements]:
    """Count, per answer, sentences that say knowledge is missing, and removed facts they name."""
    # Imported here: all other measures of triples do without domains and their words.
    from citeforge.builders.kalma.naming import FactNames
    from citeforge.kg.domain import load_domain

    namer = FactNames(load_domain(inputs.benchmark.manifest.config.get("domain") or "people"))
    counts = {}
    for run, reading in inputs.items():
        shown = reading.shown
        honest = [c.text for c in inputs.claims(reading) if says_absent(c.text)]
        named = [set(namer.find_named(text, shown.absent, shown.names)) for text in honest]
        counts[run, reading.row] = NaStatements(
            Value.exact(sum(map(bool, named))), len(honest),
            Value.exact(len(set[Triple]().union(*named))), len(shown.absent),
        )  # fmt: skip
    return counts


def honest_precision(statements: ByAnswer[NaStatements]) -> Sample:
    """Compute which share of sentences on missing knowledge names an absent fact."""
    return share_of_statements(statements, "no answer says that knowledge is missing")


def _name_rules(tools: ScoringTools, protocol: str) -> str:
    """Name the rules that detect sentences on missing knowledge, for score signatures."""
    return f"absence=rules-{','.join(ABSENCE_LANGUAGES)}@{ABSENCE_VERSION}"


_NEEDS = "an absent_… context"
MEASURES = (
    honest_statements.measure(
        "KaLMA.Honest.P", "sentences of missing knowledge that name an absent fact",
        formula="sentences which say in words that the knowledge does not give something, and name "
        "an absent fact ÷ sentences which say so",
        requires=_NEEDS, options=_name_rules, sample=honest_precision),
    honest_statements.measure(
        "KaLMA.Honest.R", "absent facts that such a sentence names",
        formula="absent facts that a sentence names and says to be missing ÷ absent facts",
        requires=_NEEDS, options=_name_rules, sample=na_recall),
    honest_statements.measure(
        "KaLMA.Honest.F1", "harmonic mean of Honest.P and Honest.R",
        formula="harmonic mean of Honest.P (0 without such a sentence) and Honest.R",
        requires=_NEEDS, options=_name_rules, sample=na_f1),
)  # fmt: skip
