"""Counts and statistics of a benchmark: keys that files hold, and the English of each.

``manifest.json`` (``counts``, ``sources[].counts``), ``stats.json`` and the header of a submission
hold keys. A key is a name, or a name with arguments: ``context_passages_mean[gold]``. People are
shown the English of :data:`COUNTS`.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Where = Literal["source", "graph", "build", "statistics", "run", "export"]
"""Where a count is: in ``sources[].counts``, also of graphs; in ``counts`` of a manifest; in
``stats.json``; in a submission's header; in the summary of an export."""

_KEY = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)


class Count(NamedTuple):
    """A count or statistic that citeforge writes.

    Attributes:
        name: name in files.
        english: English, with ``{}`` for each argument; ``{:words}`` shows its underscores as
            blanks.
        where: file that it is in.
    """

    name: str
    english: str
    where: Where


_ENGLISH: dict[Where, dict[str, str]] = {
    "source": {
        "answer_citations_outside_quotes": "answer citations outside the quotes",
        "contradicting_judgements": "contradicting judgements, the higher one kept",
        "empty_values": "values left out: empty",
        "extra_fields_ignored": "{} with extra fields ({}), ignored",
        "extra_fields_kept": "{} with extra fields ({}), kept as metadata",
        "files_in_another_encoding": "files not in UTF-8, read as {} (first: {})",
        "files_not_read": "files {} (first: {})",
        "files_read": "files read",
        "files_read_in_part": "files read in part (first: {})",
        "gold_facts_of_no_graph": "gold facts that no shown graph has",
        "json_lines_with_other_fields": "lines of JSON Lines whose other fields are left out",
        "judgements_of_unknown_queries": "judgements of unknown queries, skipped",
        "judgements_of_zero_or_less": "judgements of zero or less",
        "pairs_that_the_judge_failed_on": "pairs of passage and claim on which the judge failed",
        "passages_after_cutting": "passages after cutting",
        "passages_before_cutting": "passages before cutting",
        "passages_in_the_first_source": "passages already in the first source, merged",
        "passages_nearly_repeated": "passages that nearly repeat another one, joined",
        "passages_nearly_repeated_with_other_numbers":
            "passages that nearly repeat another one with other numbers",
        "passages_repeated": "passages that repeat another one, joined",
        "passages_without_a_word": "passages without a word, left out",
        "repeated_rows": "repeated {}, merged",
        "rows_with_a_title_alone": "{} with a title alone, which is their text",
        "rows_with_an_instruction": "{} with an instruction, put after their text",
        "rows_without_text": "{} without text, skipped",
        "running_lines": "running headers and footers, left out",
        "sentences_over_two_pages": "sentences over two pages, joined",
    },
    "graph": {
        "batches_split": "batches split in two",
        "dates_read_as_years": "dates of unknown precision on 1 January, read as years",
        "entities_without_a_label": "entities without a label",
        "entities_without_a_label_in_the_languages":
            "entities without a label in the languages asked for",
        "entities_without_an_iri": "entities left out: no IRI",
        "entities_without_statements": "entities without statements",
        "facts_of_entities_without_a_label": "facts left out: of an entity without a label",
        "facts_of_entities_without_an_iri": "facts left out: of an entity without an IRI",
        "facts_that_the_mapping_does_not_name": "facts left out: the mapping does not name {}",
        "iris_of_another_scheme": "statements with {}…, read with {}://",
        "labels_with_hidden_characters":
            "labels that held control, bidi or invisible characters, now without",
        "malformed_statements": "malformed statements of the file, left out",
        "merged_ids": "merged ids (owl:sameAs), followed",
        "relations_without_a_triple": "relations of the mapping without a triple: {}",
        "replies_changed": "of these, replies that the endpoint has changed since",
        "replies_compared": "stored replies older than a day, asked for again",
        "relative_iris": "relative IRIs without @base, read below {}",
        "values_as_coordinates": "values left out: coordinates",
        "values_as_entities": "values left out: an entity where a {} is wanted",
        "values_as_impossible_dates": "values left out: dates that are none",
        "values_as_text": "values left out: text where an entity is wanted",
        "values_in_another_language": "values left out: text in another language",
        "values_of_external_kinds":
            "values left out: external ids, addresses, media, unknown values",
        "values_that_are_no_numbers": "values left out: no numbers",
        "values_without_a_label": "values left out: no label in the languages asked for",
        "values_without_a_unit_label":
            "values left out: quantities whose unit has no label in the languages asked for",
        "values_without_an_iri": "values left out: entities without an IRI",
    },
    "build": {
        "answer_checks_without_gold":
            "answer checks made (the benchmark has no gold short answers)",
        "candidates_above": "seemingly relevant candidates dropped: above {}",
        "candidates_of_equal_text": "candidates left out: same text as a relevant passage",
        "candidates_sharing_text":
            "{:words} candidates dropped: share text with a relevant passage",
        "candidates_with_a_gold_answer": "candidates left out: contain a gold short answer",
        "candidates_with_an_answer": "{:words} candidates dropped: contain an answer",
        "claims_that_the_judge_failed_on": "claims on which the judge failed",
        "condensed_passages": "{}: passages condensed",
        "condensed_passages_irrelevant": "{}: passages found irrelevant",
        "condensed_passages_that_the_writer_failed_on":
            "{}: passages for which the writer failed",
        "decided_relevant": "negatives dropped: decided to be relevant by {}",
        "decided_relevant_elsewhere": "decided to be relevant, but no negatives here",
        "decoys_without_an_answer":
            "decoys with the first sentence, for none holds a short answer",
        "facts_without_words": "facts asked for without words of the domain",
        "hidden_passages_levelled": "hidden contexts: passages whose {} were removed",
        "hidden_places_filled_with_far_negatives":
            "hidden contexts: places of near negatives filled with far ones",
        "hidden_places_of_any_frequency": "hidden contexts: places filled whatever the frequencies",
        "hidden_places_of_another_form":
            "hidden contexts: negatives of another form than relevant passages",
        "hidden_times_shown": "hidden contexts: times that a passage is shown",
        "judged_passages_of_no_corpus": "judged passages missing from the corpus",
        "judgements_of_unknown_passages": "judgements of unknown passages, skipped",
        "labels_of_dropped_or_edited_questions":
            "labels left out: of questions that people dropped or edited",
        "labels_of_changed_passages":
            "labels left out: of passages that changed, or of queries that are gone",
        "mapped_rows_of_unknown_passages": "{} rows of unknown passages, skipped",
        "mined_negatives_compared":
            "seemingly relevant passages compared with random and relevant ones",
        "mined_negatives_too_easy":
            "seemingly relevant passages nearer to random ones than to relevant ones",
        "negatives_of_equal_text": "negatives excluded: same text as a relevant passage",
        "negatives_that_are_the_query": "negatives excluded: the query's own {}",
        "pairs_asked_about_one_entity": "pairs of which one entity is asked about alone",
        "pairs_before_sampling": "pairs found, before sampling",
        "pairs_fitting_several_entities": "pairs dropped: several entities fit",
        "pairs_kept_with_an_impossible_life":
            "pairs kept although an entity would have {:words}",
        "pairs_linked_otherwise": "pairs dropped: connected otherwise than stated",
        "pairs_not_linked": "pairs dropped: not connected in the graph",
        "pairs_of_one_name": "pairs dropped: both entities have the same name",
        "pairs_repeated": "pairs dropped: the same two entities again",
        "pairs_selected": "pairs selected",
        "pairs_whose_facts_say_the_same":
            "pairs dropped: two of the facts left to ask for say the same",
        "pairs_whose_questions_say_an_answer":
            "pairs dropped: every question would say one of its answers",
        "pairs_whose_seed_was_not_annotated": 
            "pairs dropped: the seed could not be annotated: {}",
        "pairs_with_a_long_general_question":
            "pairs dropped: the general questions left would have more than 20 words",
        "pairs_with_an_impossible_life": "pairs dropped: an entity would have {:words}",
        "pairs_with_a_short_name": "pairs dropped: a name has fewer than {} parts",
        "pairs_without_a_further_triple": "pairs dropped: no triple could be added: {}",
        "pairs_without_a_question": "pairs dropped: the writer asked no {} question: {}",
        "pairs_without_a_seed": "pairs dropped: the writer wrote no seed sentence: {}",
        "pairs_without_entity": "pairs dropped: no entity has the name",
        "pairs_without_facts":
            "pairs dropped: no choice of whole themes has --min-facts to --max-facts facts",
        "pairs_without_free_themes":
            "pairs dropped: earlier questions ask for the same facts (--max-shared)",
        "pairs_without_statements": "pairs dropped: no label or no statements",
        "passages_of_failed_twins": "passages without an accepted twin",
        "passages_people_call": "passages that people call {}",
        "passages_replaced": "failing passages replaced by the next negative",
        "passages_rewritten": "passages rewritten",
        "passages_that_may_answer":
            "passages that may answer a question, shown to no system",
        "passages_too_short": "passages too short to be asked about",
        "pool_pairs_judged": "pairs of query and passage that the pool's judge was asked about",
        "pool_pairs_that_the_judge_failed_on":
            "pairs of pools on which the judge failed, shown to no system",
        "pool_passages_unsure":
            "passages of pools that may be relevant, shown to no system",
        "queries_asked_about_nothing_found": "questions for which {} finds nothing",
        "queries_in_the_benchmark": "queries in the benchmark",
        "queries_in_the_source": "queries in the source",
        "queries_kept": "queries kept from the earlier package",
        "queries_made_anew": "queries made anew: {}",
        "queries_of_the_earlier_package_gone":
            "queries of the earlier package, no longer asked",
        "queries_not_sampled": "left out by --sample",
        "queries_of_failed_twins_dropped":
            "queries with a passage that has no accepted twin, dropped",
        "queries_of_failed_twins_kept": "queries with a passage that has no accepted twin, kept",
        "queries_with_a_passage_without_twin":
            "queries left out: the relevant passage has no twin",
        "queries_with_few_other_passages": "queries with fewer than {} other passages",
        "queries_with_few_passages": "queries with fewer than {} passages",
        "queries_with_many_relevant_passages": "queries with {} relevant passages or more",
        "queries_with_one_relevant_passage":
            "queries with one relevant passage, whose partial cell counts nowhere",
        "queries_with_several_relevant_passages":
            "queries left out: several relevant passages",
        "queries_without_a_relevant_passage": "queries without a relevant passage",
        "queries_without_candidates": "queries left out: no non-relevant candidate",
        "queries_without_relevant_passages": "queries left out: no relevant passage",
        "questions_accepted": "questions accepted: {}",
        "questions_kept": "questions kept from the earlier package",
        "questions_language_unclear": "accepted questions whose language is not clear",
        "questions_not_kept": "questions of the earlier package, not kept: {}",
        "questions_not_checked": "questions that the checker could not check",
        "clauses_read_by_nearest_wording": "clauses of questions read by their nearest wording",
        "questions_not_made": "questions wanted and not made: {}",
        "questions_rejected": "questions taken by the check: {}",
        "questions_without_retrieved_graphs": "questions without retrieved sub-graphs",
        "questions_written": "questions written",
        "relations_of_no_entity": "relations without a pair: {!r}, no entity of the class has it",
        "relations_without_words": "relations of sub-graphs that the domain has no words for",
        "relations_without_a_pair": "relations without a pair: {!r}, its values are: {}",
        "replies_refused": "replies refused: {}: {}",
        "retrieved_graphs": "retrieved sub-graphs",
        "subclaims_kept": "sub-claims kept",
        "subclaims_missing": "sub-claims missing from replies",
        "subclaims_not_entailed": "sub-claims dropped: the answer does not entail them",
        "subclaims_that_the_judge_failed_on": "sub-claims dropped: the judge failed",
        "subclaims_that_the_writer_failed_on":
            "sub-claims: answers for which the writer failed",
        "subclaims_written": "sub-claims written",
        "suspect_negatives_dropped": "suspect negatives dropped: {}",
        "texts_by_the_template": "texts of the template in the writer's place: {}",
        "texts_cut_by_the_embedder": "{} cut by the embedder after {} tokens",
        "twin_checks_failed": "failed check: {}",
        "twins_not_in_english":
            "twins whose wording (from negations to additions) was not checked (not English)",
        "twins_not_parsed": "twins whose roles were not checked (no spaCy model parsed them)",
        "twins_with_other_negations":
            "of these, German, French or Spanish twins with more or fewer negations",
    },
    "statistics": {
        "accuracy": "accuracy",
        "accuracy_in": "accuracy in {}",
        "annotation_agreement": "annotation {}: agreement, {}",
        "annotation_items": "annotation {}: items",
        "annotation_label_share": "annotation {}: share of {}",
        "answers": "answers",
        "calibration": "calibration of {}",
        "cells": "cells",
        "condensed_irrelevant_share": "{}: share of passages found irrelevant",
        "condensed_words_mean": "{}: words, mean",
        "condensed_words_of_the_passage_per_word": "{}: words of the passage a word",
        "commonest_opener": "most common first three words, {}",
        "context_passages_mean": "context {}: passages, mean",
        "context_relevant_share_mean": "context {}: share of relevant passages, mean",
        "countries": "countries",
        "covariance": "covariance",
        "distinct_2": "distinct pairs of neighbouring words per pair, {}",
        "distinct_openers": "distinct first three words, {}",
        "certified_from": "certified from",
        "description_of_form": "the form {}",
        "description_of_user": "the user {}",
        "design_language": "language of the questions, where a user or form has none of its own",
        "drift_p": "drift, p",
        "gold_facts_asked_for": "gold facts that {} questions ask for",
        "gold_facts_restated": "gold facts that other shown triples state, too",
        "gold_rows": "gold rows",
        "kappa": "kappa",
        "kept_by_people": "questions that people decided, form {}: kept",
        "knowledge_per_question_mean": "knowledge per question, mean",
        "mapped_passages": "{} passages",
        "mapped_passages_per_query_fewest": "{} passages per query, fewest",
        "mapped_passages_per_query_mean": "{} passages per query, mean",
        "mapped_passages_per_query_most": "{} passages per query, most",
        "meaning_of_twins": "meaning of twins",
        "mix_of_form": "questions of the form {}",
        "mix_of_topic": "questions of the topic {}",
        "mix_of_user": "questions of the user {}",
        "occupations": "occupations",
        "oracle_recall_5_of_all_candidates_share":
            "oracle: share of queries with the recall-5 of all candidates",
        "oracle_recall_of_all_candidates_share":
            "oracle: share of queries with the recall of all candidates",
        "pairwise_cosine_mean": "mean cosine of two {}",
        "passages": "passages",
        "passages_with_a_title": "passages with a title",
        "places_of_birth": "places of birth",
        "pool_error": "error of the pool's judge, {}",
        "pool_grades": "grades of the pool",
        "prompt_tokens": "tokens of prompts, writer and reader",
        "queries": "queries",
        "queries_with_gold_short_answers": "queries with gold short answers",
        "question_check_accepted": "error of the check of questions, {}: accepted",
        "question_check_refused": "error of the check of questions, right ones: refused",
        "questions_accepted_share": "questions accepted, share",
        "questions_that_ask_for_more": "{} questions that ask for what is no gold",
        "questions_that_leave_an_entity_out":
            "specific questions that do not name both of their entities",
        "questions_with_further_answers":
            "general questions with a shown answer that is no gold and counts as right",
        "questions_with_restated_facts": "questions with such facts",
        "questions_with_uncounted_answers":
            "questions with a shown answer that strict counts as wrong",
        "recall_mean": "{}: recall{} of {}, mean",
        "relations": "relations in minimum knowledge sets",
        "relations_of_knowledge_sets": "relations of minimum knowledge sets",
        "self_repetition": "runs of four words that occur in several texts, share, {}",
        "sensitive_relations": "named entities with a protected fact, by relation",
        "sensitive_relations_of_gold": "of these, questions ask for it",
        "repeated_questions": "repeated questions",
        "reply_tokens": "tokens of replies, writer and reader",
        "sensitivity": "sensitivity",
        "sensitivity_low": "sensitivity, at least",
        "sensitivity_standard_error": "sensitivity, standard error",
        "specificity_low": "specificity, at least",
        "snippet_verbatim_share": "snippet: share that is a span of its passage",
        "specificity": "specificity",
        "specificity_standard_error": "specificity, standard error",
        "statements": "statements",
        "sub_graphs": "sub-graphs",
        "triples_per_sub_graph_mean": "triples per sub-graph, mean",
        "twin_attempts_mean": "twins: attempts, mean",
        "twin_checks_passed_share": "twins that pass {}, share",
        "twin_edit_similarity_mean": "twins: edit similarity, mean",
        "twin_length_ratio_mean": "twins: length ratio, mean",
        "twin_ngram_overlap_mean": "twins: n-gram overlap, mean",
        "twins": "twins",
        "twins_accepted_share": "twins accepted, share",
        "words_per_passage": "words per passage",
        "words_per_passage_longest": "words per passage, longest",
        "words_per_passage_mean": "words per passage, mean",
        "years_of_birth": "years of birth",
    },
    "export": {
        "answers_left_out": "answers {}",
        "answers_to_other_contexts": "answers to other context sets",
        "answers_to_own_passages": "answers to passages that the system brought itself",
        "prompts_left_out": "prompts {}",
    },
    "run": {
        "answered_without_passages": "answered without passages",
        "answers_after_thoughts": "after thoughts, which are not scored",
        "answers_cut": "cut at --max-answer {}",
        "answers_that_ended_with_a_repeated_step": "answers that ended with a repeated step",
        "answers_that_ended_without_a_step":
            "answers that ended with something other than a step",
        "answers_that_outgrew_the_window": "answers that outgrew the window",
        "answers_without_an_end": "answers without an end",
        "answers_without_log_probabilities":
            "without the log probabilities that were asked for",
        "asked_without_facts": "asked without facts",
        "dropped_from_prompts": "{} dropped",
        "empty_answers": "empty",
        "invented_document_numbers": "invented document numbers",
        "passages_without_a_short_version": "passages without a short version that helps",
        "queries_without_a_passage": "queries without a passage",
        "rankings_by": "rankings by {}",
        "replies_without_subqueries": "replies without sub-queries",
        "searches_that_found_nothing": "searches that found nothing",
        "short_versions_of_the_package": "short versions of the package",
        "statements_cited_afterwards": "statements cited afterwards",
        "statements_without_passages": "statements without passages",
        "subqueries_repeated": "sub-queries repeated",
        "words_of_thoughts": "words of thoughts",
        "worked_examples": "worked examples to draw from ({})",
    },
}  # fmt: skip

COUNTS = {
    name: Count(name, english, where)
    for where, rows in _ENGLISH.items()
    for name, english in rows.items()
}
"""Every count and statistic that citeforge writes, by name."""


EXTRA_FIELDS = ("extra_fields_ignored", "extra_fields_kept")
"""Counts of rows with fields that their format does not define."""
NOT_MADE = "questions_not_made"
"""Count of questions that a build was asked for and did not make, by form."""
SENSITIVE = "sensitive_relations"
"""Statistic: relation that laws protect to the number of named entities that have it."""
SENSITIVE_GOLD = "sensitive_relations_of_gold"
"""The same of facts that questions ask for."""
SUSPECTS = "suspect_negatives_dropped"
"""Count of negatives that ``--drop-suspects`` removed, by the reason."""


class _Argument(str):
    """An argument of a key, which the English shows as it is or as words."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Format an argument of a count's key; format spec ``words`` turns ``_`` into spaces."""
        return self.replace("_", " ") if spec == "words" else str(self)


def count_key(name: str, *arguments: object) -> str:
    """Make a manifest count's key from name and arguments: ``context_passages_mean[gold]``."""
    return name + "".join(f"[{argument}]" for argument in arguments)


def count_name(key: str) -> str:
    """Get a count's name from its key, without the arguments in brackets."""
    match = _KEY.fullmatch(key)
    return key if match is None else match[1]


def counts_failures(key: str) -> bool:
    """Whether a manifest's count is of items that a writer or judge failed on, by its key."""
    return count_name(key).endswith("_failed_on")


def describe_count(key: str) -> str:
    """Describe a manifest's count in English by its key; unknown keys only lose their ``_``."""
    match = _KEY.fullmatch(key)
    row = None if match is None else COUNTS.get(match[1])
    if match is None or row is None:
        return key.replace("_", " ")
    n = row.english.count("{")
    arguments = [] if match[2] is None else match[2].split("][", n - 1)
    if len(arguments) != n:
        return key.replace("_", " ")
    return row.english.format(*map(_Argument, arguments))


_LABEL = re.compile(r"(?:of these, |[\w-]*: |\w+ \w+s: )?")
"""What goes before the counted noun: ``of these,`` or a heading such as ``hidden contexts:``."""
_NOUN_ENDS = {"after", "at", "by", "for", "in", "of", "on", "than", "that", "to", "whose", "with",
              "without"}  # fmt: skip
_AGREES = {"repeat": "repeats", "are": "is", "have": "has", "were": "was"}
_IES, _S = re.compile(r"ies$"), re.compile(r"(?<=ch|sh|ss)es$|(?<=x)es$|s$")
_RELATIVE = re.compile(rf"^(\S+ that (?:nearly )?)({'|'.join(_AGREES)})\b")


def count_line(key: str, number: int) -> str:
    """Write a number with what it counts: ``1 query without text, skipped``, ``2 queries …``."""
    text = describe_count(key)
    return f"{number:,} {_to_singular(text) if number == 1 else text}"


def _to_singular(text: str) -> str:
    """Put the counted noun of a description into the singular: the first plural before a clause."""
    label = _LABEL.match(text)
    start = 0 if label is None else label.end()
    words = text[start:].split(" ")
    for index, word in enumerate(words):
        noun = word.rstrip(",:")
        if noun in _NOUN_ENDS:
            break
        if noun.endswith("s") and not noun.endswith("ss"):
            words[index] = _S.sub("", _IES.sub("y", noun)) + word[len(noun) :]
            rest = _RELATIVE.sub(
                lambda match: match[1] + _AGREES[match[2]], " ".join(words[index:])
            )
            return text[:start] + " ".join([*words[:index], rest])
        if word.endswith(":"):
            break
    return text


def describe_entry(key: str) -> str:
    """Describe a key of a statistic's dictionary in English if it is a count's; else return it."""
    return describe_count(key) if count_name(key) in COUNTS else key


def join_counts(counts: Iterable[tuple[str, int]]) -> str:
    """Write counts in one line: ``3 queries without text, skipped; 1 batch split in two``."""
    return "; ".join(count_line(key, number) for key, number in counts)
