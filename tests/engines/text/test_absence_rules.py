"""Sentences of missing knowledge: what says so, and denials about the world, which do not."""

import pytest

from citeforge.engines.text.refusals import language_rules, says_absent, split_words

SAYS = """
The facts do not say when Ada Lovelace was born.
The given facts don't mention her place of death.
The knowledge graph does not contain his occupation.
The provided knowledge gives no date of birth for Lord Byron.
The graph says nothing about her religion.
These triples lack the employer of Marie Curie.
The facts are silent on his party.
The facts fail to state where she was buried.
Her date of birth is not given.
His place of birth isn't known.
Lord Byron's cause of death is unknown.
The name of her mother remains unclear.
There is no information about her father.
No information on his education is available.
I have no information about where he studied.
No employer is listed for Pierre Curie.
It is not stated which award he received.
Where he was buried is not recorded.
It cannot be determined when he died.
I cannot tell who his spouse was.
I do not know when she was born.
Her native language is missing from the facts.
It is unknown what religion she followed.
The available data do not specify the number of her children.
Nothing is said of her religion.
Neither his employer nor his field of work is mentioned.
The context doesn't specify her occupation.
Her occupation is not mentioned in the given facts.
Among the facts there is no mention of her burial.
It is impossible to say where he lived.
"""
SAYS_NOT = """
Ada Lovelace was born on 10 December 1815.
He never married.
She did not attend school.
He was not a member of any party.
Lord Byron had no sons.
He died without children.
She was not given a title.
He is not known for his novels.
She was not named after the queen.
He was an unknown artist at the time.
No king ruled longer than him.
She did not say when she would return.
He lost his father when he was missing at sea.
Nobody knew him better than his wife.
She was absent from court for years.
He left his wife and moved to Paris.
He could not find work in London.
She did not receive the Nobel Prize in 1903 alone.
None of her children survived her.
He was unable to walk.
His remains were not buried in Rome.
"""


@pytest.mark.parametrize("sentence", SAYS.strip().splitlines())
def test_sentences_of_missing_knowledge(sentence: str) -> None:
    assert says_absent(sentence)


@pytest.mark.parametrize("sentence", SAYS_NOT.strip().splitlines())
def test_denials_about_the_world(sentence: str) -> None:
    assert not says_absent(sentence)


def test_every_sentence_of_missing_knowledge_has_a_cue_of_its_rules() -> None:
    rules = language_rules("en", "absence")
    for sentence in SAYS.strip().lower().splitlines():
        if rules.strong.search(sentence):
            assert rules.has_cue(sentence, split_words(sentence)), sentence
