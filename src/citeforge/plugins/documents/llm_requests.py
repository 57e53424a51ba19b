"""Requests to the LLM that writes questions and tries to answer them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.builders.writer_prompts import WriterPrompt
from citeforge.engines.draws import sample_ids
from citeforge.engines.files import digest
from citeforge.engines.llm.records import Failure, Llm, Request
from citeforge.engines.text.quoting import without_tags
from citeforge.engines.textfiles import read_yaml
from citeforge.plugins.documents.design import LIST, Design
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.schemas.finish_reasons import TRUNCATED

QUESTION, ANSWER, EVIDENCE, TOPICS = "question", "answer", "evidence", "topics"
"""Tasks of the LLM, and names of their templates."""
_FOLDER = Path(__file__).parent / "data"
_QUESTION_TOKENS, _ANSWER_TOKENS, _LIST_TOKENS = 200, 48, 160
"""Most tokens of a question with its answer, of an answer, and of a list."""
_NAMES_TOKENS, _SHOWN_CHARACTERS = 1024, 300
"""Most tokens of names of topics; characters of each passage shown to name one."""
_SHOWN_SEEDS = 5
"""Most seed questions that a writer is shown at once."""
_END = "\nEnd"
"""End of examples, so that a small LLM does not continue with a question of its own."""
_WARM_TEMPERATURE = 0.7
"""Temperature of the second and later tries without a passage, so that they differ."""


@dataclass(frozen=True, slots=True)
class TextReply:
    """Text of an LLM's reply, or the reason why there is none.

    Attributes:
        text: text of the reply, without its last line if it was cut off; empty without a reply.
        failure: why there is no reply; empty with one.
    """

    text: str
    failure: str = ""


USUAL_CHARACTERS = 100
"""Length of a question, a statement or a quote, for estimates."""


class PromptedLlm:
    """Fills in the prompts of documents' questions, sends them to an LLM, and counts tokens.

    Attributes:
        prompts: name of each template to the digest of its text.
        tokens: numbers of tokens of all prompts and of all replies, stored replies included.
    """

    def __init__(
        self,
        llm: Llm,
        design: Design | None = None,
        seeds: Sequence[str] = (),
        draw_seed: int = 0,
        reader: Llm | None = None,
    ) -> None:
        """Set the LLMs to write and answer questions, and the random seed to draw examples with.

        Args:
            llm: model that is asked.
            design: what the questions are to be like; None for no wishes.
            seeds: questions of users, of which some are shown as examples.
            draw_seed: seed of the draw of these.
            reader: model that answers the questions; None for ``llm``.
        """
        self.llm, self.reader, self.design = llm, reader or llm, design or Design()
        self.seeds, self._draw_seed = tuple(seeds), draw_seed
        self.tokens = [0, 0]
        self._templates = {
            name: WriterPrompt(name, _FOLDER, own) for name, own in self.design.prompts
        }
        if self.design.found_topics is not None:
            self._templates[TOPICS] = WriterPrompt(TOPICS, _FOLDER)
        self.prompts = {name: template.sha256 for name, template in self._templates.items()}
        self._examples = read_yaml(_FOLDER / "examples.yaml")
        self.prompts["examples"] = digest(self._examples)

    def to_write(self, question: Question) -> Request:
        """Make the LLM request to write a question about passages, after worked examples."""
        form, language = question.spec.form, question.spec.merge_wishes(self.design).language
        values: dict[str, object] = {
            "form": form.base, "wishes": [form.description] * bool(form.description),
            "is_first": True, "language": language, "seeds": [],
        }  # fmt: skip
        turns: list[tuple[str, str]] = []
        for example in self._examples.get(form.check, self._examples[form.base]):
            prompt = self._fill_template(QUESTION, values | {"passages": example["passages"]})
            turns += ("user", prompt), ("assistant", example["reply"] + _END)
            values["is_first"] = False
        values |= {
            "passages": _as_rows(question.evidence),
            "wishes": self._list_instructions(question.spec),
            "seeds": sample_ids(
                self.seeds, _SHOWN_SEEDS, self._draw_seed, f"seeds of {question.id}"
            ),
        }
        return self._request(QUESTION, values, _QUESTION_TOKENS, turns=turns)

    def _list_instructions(self, spec: QuestionSpec) -> list[str]:
        """List instructions to the LLM for a question: on its form, its users and its wording."""
        user = spec.user
        asks = f"Ask as this person would: {user.description}." if user is not None else ""
        wishes = spec.merge_wishes(self.design).sentences
        return [wish for wish in (spec.form.description, asks, *wishes) if wish]

    def to_find_evidence(self, question: Question, passage: Evidence) -> Request:
        """Make the LLM request to answer a user's seed question from a passage, with a quote."""
        (row,) = _as_rows([passage])
        values = {"question": question.text, "passage": row}
        return self._request(EVIDENCE, values, _QUESTION_TOKENS)

    def to_answer(
        self, question: Question, passages: Sequence[Evidence] = (), attempt: int = 0
    ) -> Request:
        """Make the LLM request to answer a question from passages or none; attempts after 0 vary.

        Args:
            question: the question.
            passages: passages shown; empty for none.
            attempt: number of the try, from 0.
        """
        several = question.base == LIST
        values = {
            "question": question.text, "several": several, "passages": _as_rows(passages),
            "language": question.spec.merge_wishes(self.design).language,
        }  # fmt: skip
        return self._request(ANSWER, values, _LIST_TOKENS if several else _ANSWER_TOKENS, attempt)

    def to_name_topics(self, groups: Sequence[Sequence[Evidence]], attempt: int = 0) -> Request:
        """Make the LLM request to name topics, each shown by passages; attempts after 0 vary.

        Args:
            groups: passages of each topic, whose starts are shown.
            attempt: number of the try, from 0.
        """
        rows = [_as_rows(passages) for passages in groups]
        cut = [[{**row, "text": row["text"][:_SHOWN_CHARACTERS]} for row in some] for some in rows]
        return self._request(TOPICS, {"groups": cut}, _NAMES_TOKENS, attempt)

    def _fill_template(self, task: str, values: Mapping[str, object]) -> str:
        """Fill in a task's prompt template; texts among the values are put in quotes."""
        return self._templates[task].render(values).strip()

    def _request(
        self,
        task: str,
        template_values: Mapping[str, object],
        most_tokens: int,
        attempt: int = 0,
        turns: Sequence[tuple[str, str]] = (),
    ) -> Request:
        """Make an LLM request of a task: worked examples as chat turns, then the prompt.

        Args:
            task: name of the template: to write a question, or to answer one.
            template_values: variables of the template.
            most_tokens: limit of the reply.
            attempt: number of the try; all but the first are sampled at a temperature.
            turns: (role, text) of worked examples.
        """
        params: dict[str, object] = {"temperature": _WARM_TEMPERATURE if attempt else 0.0}
        params |= {"max_tokens": most_tokens} | ({"stop": [_END]} if turns else {})
        messages = (*turns, ("user", self._fill_template(task, template_values)))
        # A reply without an end may contain an answer before the limit.
        usual = turns[-1][1] if turns else "?" * USUAL_CHARACTERS
        return Request(
            messages, params, attempt, task, template_values, needs_text=False, usual_reply=usual
        )

    def ask(self, requests: Sequence[Request]) -> list[TextReply]:
        """Send LLM requests of one task; return the replies in order.

        Equal requests cost once.
        """
        replies = []
        reads = any(request.task == ANSWER for request in requests)
        for result in (self.reader if reads else self.llm).complete(requests):
            self.tokens[0] += result.prompt_tokens
            self.tokens[1] += result.completion_tokens
            if isinstance(result, Failure):
                replies.append(TextReply("", f"{result.reason}: {result.message}"))
                continue
            text = without_tags(result.text)
            if result.finish_reason == TRUNCATED:
                text = text.rpartition("\n")[0] or text
            replies.append(TextReply(text))
        return replies


def _as_rows(passages: Sequence[Evidence]) -> list[dict[str, str]]:
    """Convert passages to dictionaries of title and text, for prompt templates."""
    return [{"title": p.title, "text": p.text} for p in passages]
