"""Sentences of missing knowledge: what says so, and denials about the world, which do not."""

import pytest

from citeforge.engines.text.refusals import (
    ABSENCE_LANGUAGES,
    language_rules,
    says_absent,
    split_words,
)
from citeforge.schemas.refusals import LANGUAGES as REFUSAL_LANGUAGES

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
Nothing is clear: where he was buried is left open.
Her date of birth is left open.
The facts do not name the author.
The facts do not mention her employer as of 1850.
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
The museum is open on Sundays, but not on Mondays.
The text does not name him as the author.
"""


SAYS_IN = {
    "de": """
Die Fakten sagen nicht, wann Ada Lovelace geboren wurde.
Die gegebenen Tripel enthalten keinen Geburtsort von ihm.
In den Fakten steht nichts über ihre Religion.
Der Wissensgraph schweigt zu seinem Beruf.
Sein Sterbeort ist nicht bekannt.
Ihr Vater wird in den Daten nicht genannt.
Wo er begraben liegt, bleibt offen.
Es gibt keine Angaben zu ihrer Staatsangehörigkeit.
Aus den Angaben geht nicht hervor, wer ihr Vater war.
Sein Beruf fehlt in den Daten.
Wo er begraben liegt, ist offen.
Es ist offen, ob er verheiratet war.
Die Frage nach ihrem Vater ist noch offen.
Sein Geburtsort bleibt offen.
Der Text nennt ihn nicht als Autor und nennt auch keinen anderen.
""",
    "fr": """
Les faits ne disent pas quand Ada Lovelace est née.
Les données ne donnent aucun lieu de naissance.
Sa profession n'est pas indiquée.
Le lieu de sa mort n'est pas connu.
Son père n'est mentionné dans aucun des faits.
Le graphe est muet sur sa religion.
Il n'y a aucune information sur son employeur.
Sa date de décès reste inconnue.
On ne sait pas où il est enterré.
Aucune indication ne figure sur sa nationalité.
""",
    "es": """
Los hechos no dicen cuándo nació Ada Lovelace.
Los datos no mencionan su lugar de nacimiento.
Su profesión no se indica.
No se conoce su lugar de muerte.
Su padre no figura en los datos.
El grafo guarda silencio sobre su religión.
No hay información sobre su empleador.
Su fecha de muerte es desconocida.
No se sabe dónde fue enterrado.
Falta su nacionalidad en los hechos.
""",
    "it": """
I fatti non dicono quando è nata Ada Lovelace.
I dati non indicano il luogo di nascita.
La sua professione non è indicata.
Il luogo di morte non è noto.
Suo padre non compare nei dati.
Il grafo tace sulla sua religione.
Non ci sono informazioni sul suo datore di lavoro.
La data di morte resta sconosciuta.
Non si sa dove sia sepolto.
Nei fatti manca la sua nazionalità.
""",
    "nl": """
De feiten zeggen niet wanneer Ada Lovelace geboren is.
De gegevens noemen geen geboorteplaats.
Zijn beroep wordt niet vermeld.
De plaats van overlijden is niet bekend.
Haar vader staat niet in de gegevens.
De graaf zwijgt over haar religie.
Er is geen informatie over zijn werkgever.
Zijn sterfdatum is onbekend.
In de feiten ontbreekt zijn nationaliteit.
Waar hij begraven ligt, is niet duidelijk.
""",
    "pt": """
Os fatos não dizem quando Ada Lovelace nasceu.
Os dados não mencionam o local de nascimento.
A sua profissão não é indicada.
O local da morte não é conhecido.
O pai não aparece nos dados.
Não há informação sobre o empregador.
A data de morte é desconhecida.
Não se sabe onde foi enterrado.
Falta a nacionalidade nos fatos.
Não consta a sua religião.
""",
}

SAYS_NOT_IN = {
    "de": """
Er hat nie geheiratet und hatte keine Kinder.
Sie war nicht für ihre Gedichte bekannt.
Die Daten zeigen, dass er keine Geschwister hatte.
Er gehörte keiner Partei an.
Sie wurde nicht in London geboren, sondern in Wien.
Sein Nachlass blieb nicht erhalten.
Das Grab liegt nicht in Rom.
Er ist unter anderen Namen nicht bekannt.
Der Laden ist sonntags offen.
Das Museum ist montags nicht offen.
Das Grab ist offen.
Die Tür ist offen, und er geht.
Der Text nennt ihn nicht als Autor.
""",
    "fr": """
Il ne s'est jamais marié et n'eut pas d'enfants.
Elle n'est pas connue pour ses poèmes.
Il n'appartenait à aucun parti.
Elle n'est pas née à Londres, mais à Vienne.
Son œuvre reste inconnue du grand public.
Il n'a pas été enterré à Rome.
Elle n'a pas été nommée par le roi.
Le texte ne le nomme pas comme auteur.
Les données montrent qu'il n'avait pas de frère.
""",
    "es": """
Nunca se casó y no tuvo hijos.
No es conocida por sus poemas.
No pertenecía a ningún partido.
No nació en Londres, sino en Viena.
Su obra es desconocida para el gran público.
No fue enterrado en Roma.
No se conoce a sus hermanos por su fama.
El texto no lo menciona como autor.
Los datos muestran que no tenía hermanos.
""",
    "it": """
Non si sposò mai e non ebbe figli.
Non è nota per le sue poesie.
Non apparteneva a nessun partito.
Non nacque a Londra, ma a Vienna.
La sua opera resta sconosciuta al grande pubblico.
Non fu sepolto a Roma.
Il testo non lo nomina come autore.
I dati mostrano che non aveva fratelli.
""",
    "nl": """
Hij is nooit getrouwd en had geen kinderen.
Zij is niet bekend om haar gedichten.
Hij behoorde tot geen partij.
Zij werd niet in Londen geboren, maar in Wenen.
Zijn werk is onbekend bij het grote publiek.
Hij werd niet in Rome begraven.
De tekst noemt hem niet als auteur.
De gegevens tonen dat hij geen broers had.
""",
    "pt": """
Nunca se casou e não teve filhos.
Não é conhecida pelos seus poemas.
Não pertencia a nenhum partido.
Não nasceu em Londres, mas em Viena.
A sua obra é desconhecida do grande público.
Não foi sepultado em Roma.
O texto não o menciona como autor.
Os dados mostram que não tinha irmãos.
""",
}


def in_languages(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, line) for name, text in texts.items() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("language", "sentence"), in_languages(SAYS_IN))
def test_sentences_of_missing_knowledge_in_other_languages(language: str, sentence: str) -> None:
    assert says_absent(sentence) and says_absent(sentence, (language,))


@pytest.mark.parametrize(("language", "sentence"), in_languages(SAYS_NOT_IN))
def test_denials_about_the_world_in_other_languages(language: str, sentence: str) -> None:
    assert not says_absent(sentence)


def test_languages_have_sentences_and_rules_of_refusals() -> None:
    assert {*ABSENCE_LANGUAGES} == {"en", *SAYS_IN} == {"en", *SAYS_NOT_IN}
    assert {*ABSENCE_LANGUAGES} <= {*REFUSAL_LANGUAGES}


@pytest.mark.parametrize("sentence", SAYS.strip().splitlines())
def test_sentences_of_missing_knowledge(sentence: str) -> None:
    assert says_absent(sentence)


@pytest.mark.parametrize("sentence", SAYS_NOT.strip().splitlines())
def test_denials_about_the_world(sentence: str) -> None:
    assert not says_absent(sentence)


def test_every_sentence_of_missing_knowledge_has_a_cue_of_its_rules() -> None:
    for language, sentence in in_languages({"en": SAYS.lower(), **SAYS_IN}):
        rules = language_rules(language, "absence")
        if rules.strong.search(sentence):
            assert rules.has_cue(sentence, split_words(sentence)), sentence
