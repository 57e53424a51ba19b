"""Words that name a passage in a mark, such as "Document" in ``[Document 5]``: data, by language.

A word that ends in ``~`` stands for its inflected forms, too.
"""

import re

LABELS: dict[str, str] = {
    "bg": "източник източници документ документи",
    "ca": "font fonts",
    "cs": "zdroj zdroje dokument dokumenty",
    "da": "kilde kilder",
    "el": "πηγή πηγές έγγραφο έγγραφα",
    "et": "allikas allikad dokument",
    "he": "מקור מקורות מסמך מסמכים",
    "hr": "izvor izvori dokument",
    "hu": "forrás források dokumentum",
    "lt": "šaltinis šaltiniai dokumentas",
    "ro": "sursa surse sursele documentul",
    "sl": "vir viri",
    "uk": "джерело джерела джерелі",
    "ur": "ماخذ دستاویز",
    "vi": "nguồn tài liệu đoạn",
    "ar": "المصدر المصدران مصدر المصادر مصادر المستند المستندان مستند للمستند المستندات الوثيقة "
    "وثيقة الوثائق المرجع مرجع النص المقطع السياق",
    "bn": "নথি উৎস দলিল তথ্যসূত্র সূত্র ডকুমেন্ট প্রসঙ্গ",
    "de": "quelle quellen dokument dokumente dokumenten dok textstelle fundstelle "
    "beleg auszug kontext",
    "en": "document documents doc docs source sources passage passages context contexts reference "
    "references ref refs src citation citations cite chunk chunks excerpt excerpts snippet "
    "snippets webpage web result evidence search",
    "es": "fuente fuentes documento documentos pasaje pasajes referencia referencias fragmento "
    "contexto extracto",
    "fa": "منبع منابع سند اسناد مدرک متن",
    "fi": "asiakirja asiakirjat lähde lähteet dokumentti viite",
    "fr": "extrait extraits passage référence références réf contexte",
    "hi": "दस्तावेज़ दस्तावेज़ दस्तावेज दस्तावेजों स्रोत संदर्भ सन्दर्भ डॉक्यूमेंट",
    "id": "dokumen sumber referensi konteks",
    "it": "fonte fonti documenti passaggio riferimento contesto",
    "ja": "文書 資料 出典 ドキュメント 参照 ソース 参考 引用 情報源",
    "ko": "문서 출처 자료 참고 문헌 참조 소스",
    "nl": "bron bronnen",
    "pl": "źródło źródła dokumenty",
    "pt": "fontes trecho passagem referência",
    "ru": "документ~ док источник~ ист фрагмент~ отрыв~ контекст~",
    "sv": "källa källor",
    "sw": "hati chanzo waraka nyaraka marejeo",
    "te": "పత్రం మూలం డాక్యుమెంట్ సూచన",
    "th": "เอกสาร เอกสารที่ แหล่งที่มา แหล่งข้อมูล อ้างอิง",
    "tr": "kaynak kaynaklar belge doküman",
    "yo": "ìwé orísun àkọsílẹ̀",
    "zh": "文档 文檔 来源 來源 资料 文献 文獻 文件 片段 段落 网页 網頁",
}
"""Languages of MIRACL, and more of Europe."""

SEE = frozenset(
    "see also cf vgl siehe voir véase ver vid cfr zie zob bkz см انظر راجع देखें "
    "见 見 参见 參見 详见 参照 참조 lihat tazama katso ดู from per".split()
)
"""Words that may come before the label or the number."""

AND = frozenset(
    "and or und sowie et y e o en och og oraz ve ja dan na sekä и و a i és ir și şi si và και та й "
    "і اور "
    "और এবং మరియు และ 및 와 과 及 与 和 と および 以及".split()
)
"""Words between two numbers."""

NUMBER_WORDS = {
    word: number
    for line in (
        "one two three four five six seven eight nine ten",
        "eins zwei drei vier fünf sechs sieben acht neun zehn",
        "un deux trois quatre cinq six sept huit neuf dix",
        "uno dos tres cuatro cinco seis siete ocho nueve diez",
        "um dois três quatro cinco seis sete oito nove dez",
        "uno due tre quattro cinque sei sette otto nove dieci",
        "один два три четыре пять шесть семь восемь девять десять",
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "一 二 三 四 五 六 七 八 九 十",
        "ⅰ ii iii iv v vi vii viii ix x",
    )
    for number, word in enumerate(line.split(), 1)
}
"""Numbers in words of several languages, ordinals, Chinese and Roman numerals."""

_SIGNS = frozenset("n n° nº º ° no nr № id number رقم מס 第 ที่".split())
"""What may be written for "number"."""
_WORDS = [word for line in LABELS.values() for word in line.split()]
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LABELS = frozenset(word for word in _WORDS if not word.endswith("~"))
_GLUED = frozenset(
    before + label + behind for before in ("", *filter(_UNSPACED.match, SEE | AND))
    for label in filter(_UNSPACED.match, _LABELS) for behind in ("", "第", "番号", "编号", "編號")
)  # fmt: skip
"""Labels of languages without spaces, with the words around them: `见文档`, `文書番号`."""
_STEMS = tuple(word[:-1] for word in _WORDS if word.endswith("~"))
_ENDINGS = tuple(sorted(_LABELS, key=len, reverse=True))
_LAST_WORD = re.compile(r"[\w\u0900-\u0dff]+\Z")
_LONGEST = 14
"""Letters of an inflected form."""


def is_label(word: str) -> bool:
    """Whether a lower-case word can stand for a passage, such as ``document``."""
    is_inflected = word.startswith(_STEMS) and len(word) < _LONGEST
    is_joined = word[:1] in "בהוכלמש" and word[1:] in _LABELS  # Hebrew `במסמך`
    return word in _LABELS or word in _GLUED or is_joined or is_inflected


def may_stand_in_mark(word: str) -> bool:
    """Whether a lower-case word may be beside the numbers of a citation mark (``see``, ``and``)."""
    is_see = word in SEE or (word.endswith("第") and word[:-1] in SEE)
    return is_see or word in AND or word in _SIGNS or is_label(word)


def find_last_label(text: str) -> int:
    """Find the offset of a word such as "Document" at the end of a text; -1 if there is none."""
    lower = text.lower()
    if (word := _LAST_WORD.search(lower)) is None:
        return -1
    if is_label(word[0]):
        return word.start()
    label = next(filter(lower.endswith, _ENDINGS), "") if lower.endswith(_ENDINGS) else ""
    return len(text) - len(label) if label and _UNSPACED.match(label) else -1
