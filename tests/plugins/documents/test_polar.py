"""Words for yes and no are those of the language in which a question is asked."""

import unicodedata

import pytest

from citeforge.plugins.documents.design import built_in_forms
from citeforge.plugins.documents.form_rules import find_form_fault
from citeforge.plugins.documents.polar import polar_words
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Question, is_answered

ASKED = {
    "ar": (
        "هل يمكن فتح الهويس عندما يكون الماء عاليا؟",
        "لا يمكن فتح الهويس عندما يكون الماء عاليا.",
    ),
    "bn": ("জল বেশি হলে কি জলকপাট খোলা যায়?", "জল বেশি হলে জলকপাট খোলা যায় না।"),
    "da": (
        "Må man åbne slusen, når vandet er højt?",
        "Man må ikke åbne slusen, når vandet er højt.",
    ),
    "en": ("May the lock be opened at high water?", "The lock may be opened at high water."),
    "eu": (
        "Ireki daiteke uhatea ura goian dagoenean?",
        "Uhatea ezin da ireki ura goian dagoenean.",
    ),
    "fr": (
        "Peut-on ouvrir l'écluse en cas de crue ?",
        "L'écluse peut être ouverte en cas de crue.",
    ),
    "hi": ("क्या पानी ऊँचा होने पर ताला खोला जा सकता है?", "पानी ऊँचा होने पर ताला खोला जा सकता है।"),
    "hu": ("Kinyitható a zsilip, ha magas a víz?", "A zsilip nem nyitható ki, ha magas a víz."),
    "is": (
        "Má opna slússuna þegar vatnið er hátt?",
        "Það má ekki opna slússuna þegar vatnið er hátt.",
    ),
    "it": (
        "La chiusa si può aprire con l'acqua alta?",
        "La chiusa non si può aprire quando l'acqua è alta.",
    ),
    "ja": ("水位が高いときに水門を開けてもよいですか？", "水位が高いときに水門を開けてもよい。"),
    "no": (
        "Må man ikke åpne slusen når vannet er høyt?",
        "Man må ikke åpne slusen når vannet er høyt.",
    ),
    "pt": ("Pode-se abrir a eclusa com água alta?", "A eclusa não pode ser aberta com água alta."),
    "ro": ("Se poate deschide ecluza la ape mari?", "Ecluza nu se poate deschide la ape mari."),
    "sv": (
        "Får slussen öppnas när vattnet är högt?",
        "Slussen får inte öppnas när vattnet är högt.",
    ),
    "ta": ("நீர் உயரும்போது மதகைத் திறக்கலாமா?", "நீர் உயரும்போது மதகைத் திறக்கலாம்."),
    "th": ("เปิดประตูน้ำเมื่อน้ำสูงได้ไหม", "เปิดประตูน้ำเมื่อน้ำสูงไม่ได้"),
    "zh": ("水位高的时候可以打开水闸吗？", "水位高的时候可以打开水闸。"),
}
"""Language to a question and its statement."""


def ask(language: str, answer: str) -> Question:
    text, statement = ASKED[language]
    spec = QuestionSpec(built_in_forms()["yes/no"])
    return Question("q1", spec, (), text, [answer], statement, ["x"])


@pytest.mark.parametrize(
    ("language", "answer", "reply", "is_right"),
    [
        ("en", "no", "No, it must not.", True),
        ("en", "no", "Yes: there is no lid.", False),
        ("en", "yes", "NOT ANSWERED", False),
        ("en", "no", "", False),
        ("en", "yes", "__Yes__, it may.", True),
        ("en", "yes", "Yesterday it was.", False),
        ("da", "ja", "Ja.", True),
        ("zh", "是", "是的，可以。", True),
        ("hi", "हाँ", "हाँ।", True),
        ("hi", "हाँ।", "हाँ, यह हो सकता है।", True),
        ("hi", "नहीं", "हाँ", False),
        ("no", "nei", "Nei, det må man ikke.", True),
        ("is", "já", unicodedata.normalize("NFD", "Já."), True),
        ("pt", unicodedata.normalize("NFD", "não"), "**Não**, nunca", True),
        ("ar", "لا", "لا، لا يمكن ذلك", True),
        ("ja", "はい", "「はい」、できます", True),
        ("ro", "nu", "Nu, nu se poate.", True),
        ("sv", "nej", "Nu får den öppnas.", False),  # nu is now
        ("sv", "nej", "Nej, nu får den inte öppnas.", True),
        ("hu", "nem", "Ez a zsilip nyitva van.", False),  # ez is this
        ("eu", "ez", "Ez, ezin da.", True),
        ("pt", "não", "No inverno a eclusa abre.", False),  # no is in the
        ("fr", "oui", "Si l'eau monte, on l'ouvre.", False),  # si is if
        ("bn", "না", "না, যায় না।", True),
        ("ta", "ஆம்", "ஆம், திறக்கலாம்.", True),
        ("th", "ไม่", "ไม่", True),
        ("it", "sì", "Si, è acceso.", True),
        ("it", "sì", "**Si**.", True),
        ("it", "si", "Sì", True),
        ("it", "sì", "Si apre quando l'acqua è bassa.", False),  # si is itself
        ("it", "no", "Si, è acceso.", False),
        ("pt", "não", "Nao, nunca.", True),
        ("zh", "是", "是的它在工作", True),
        ("zh", "不", "不可以打开", True),
        ("zh", "不", "是的它在工作", False),
        ("zh", "是", "是否可以打开，文中没有说", False),  # whether
        ("ja", "はい", "はいできます", True),
        ("th", "ใช่", "ใช่ครับ", True),
        ("th", "ใช่", "ไม่ใช่ครับ", False),
    ],
)
def test_a_reply_says_yes_or_no_in_the_language_of_the_question(
    language: str, answer: str, reply: str, is_right: bool
) -> None:
    assert find_form_fault(ask(language, answer)) is None
    assert is_answered(ask(language, answer), reply) == is_right


@pytest.mark.parametrize(
    ("language", "answer"),
    [("sv", "nu"), ("hu", "ez"), ("en", "nu"), ("pt", "no"), ("hi", "ja"), ("en", "oui")],
)
def test_a_word_of_another_language_is_no_answer(language: str, answer: str) -> None:
    fault = find_form_fault(ask(language, answer))
    assert fault == f"the answer is neither yes nor no: {answer!r}"


@pytest.mark.parametrize("language", ASKED)
def test_no_word_is_both_yes_and_no(language: str) -> None:
    yes, no = polar_words(" ".join(ASKED[language]))
    assert yes
    assert no
    assert not yes & no
    assert len(yes | no) <= 12  # of the language and its relatives, not of all


def test_a_text_in_an_unlisted_language_may_use_the_words_of_all() -> None:
    yes, no = polar_words("ជលទ្វារអាចបើកបាននៅពេលទឹកឡើងខ្ពស់ដែរឬទេ")  # Khmer
    assert {"yes", "oui", "да"} <= yes
    assert {"no", "non", "нет"} <= no
