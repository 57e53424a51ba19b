"""What a refusal looks like: rules of several languages, or the question for a judge."""

from __future__ import annotations

import re
from functools import cache

JUDGE = "judge"
_GAP = r"[^.!?\n]{0,70}"
"""Words of the same sentence."""
_SHOWN = {
    "en": r"(?:passages?|documents?|sources?|contexts?|texts?|(?:search )?results?|articles?|"
    r"snippets?|excerpts?|references|materials?|paragraphs?|information provided)",
    "de": r"(?:textstellen?|passagen?|abschnitte?n?|dokumente?n?|quellen?|kontext|texte?n?|"
    r"suchergebnisse?n?|auszüge?n?|artikeln?|unterlagen)",
    "es": r"(?:pasajes?|documentos?|fuentes?|contextos?|textos?|resultados|artículos?|fragmentos?|"
    r"párrafos?)",
    "fr": r"(?:passages?|documents?|sources?|contextes?|textes?|résultats|articles?|extraits?|"
    r"paragraphes?)",
    "it": r"(?:passaggi|passaggio|brani|brano|document[io]|font[ei]|contest[io]|test[io]|risultati|"
    r"articol[io]|estratt[io]|paragraf[io])",
    "nl": r"(?:passages?|fragmenten|documenten|document|bronnen|bron|context|teksten|tekst|"
    r"zoekresultaten|artikelen|alinea's)",
    "pt": r"(?:passagens|passagem|trechos?|documentos?|fontes?|contextos?|textos?|resultados|"
    r"artigos?|parágrafos?)",
}
"""What an answer calls what it was shown: "does not mention" is a refusal of that alone."""


def _rules(language: str, *rules: str) -> tuple[str, ...]:
    return tuple(r.replace("SHOWN", _SHOWN[language]).replace("GAP", _GAP) for r in rules)


RULES: dict[str, tuple[str, ...]] = {
    "en": _rules(
        "en",
        r"\b(?:i|we)(?: am|'m| are|'re| was| were)? (?:can ?not|can't|could not|couldn't|"
        r"not able to|"
        r"unable to) (?:\w+ )?(?:answer|determine|find|provide|say|confirm|verify|give|identify|"
        r"locate|conclude|respond|help|assist|tell (?:you|from|who|what|when|where|which|whether))",
        r"\bi (?:do not|don't|did not|didn't) (?:know\b|have (?:\w+ )?(?:information|access|"
        r"context)|"
        r"find (?:any|an answer|the answer))",
        r"\bwe (?:do not|don't) (?:know the answer|have (?:\w+ )?information)",
        r"\bSHOWN\bGAP\b(?:do|does)(?: not|n't) (?:\w+ )?(?:contain|provide|mention|answer|say|"
        r"state|include|specify|indicate|give|address|discuss|offer|cover|tell|name|reveal)",
        r"\b(?:no|none of the) (?:\w+ ){0,2}SHOWN (?:\w+ )?(?:contains?|provides?|mentions?|"
        r"answers?|says?|states?|includes?|specif(?:y|ies)|indicates?|gives?|tells?|names?)\b",
        r"\bthere (?:is|was|are) (?:no|not any|insufficient|not enough) (?:\w+ )?(?:mention|answer|"
        r"details?|information|data)\bGAP\b(?:SHOWN|about|on|regarding|to (?:answer|determine|"
        r"say))",
        r"\b(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:mentioned|provided|stated|answered|"
        r"specified|"
        r"given|discussed|addressed|named|clear)\bGAP\b(?:in|by|from) (?:the|any|these|this|those)"
        r"(?: \w+){0,2} SHOWN",
        r"\b(?:based on|according to|from|in) (?:the|these|this|any)(?: \w+){0,2} SHOWN\bGAP\b(?:"
        r"(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:mentioned|provided|stated|specified|given|"
        r"named|clear|known)|(?:is|remains) (?:unclear|unknown)|can ?not be (?:determined|answered|"
        r"concluded|identified|said))",
        r"\b(?:insufficient|not enough|no relevant) (?:information|context|details)\b",
        r"\b(?:is|was) unclear from the(?: \w+){0,2} SHOWN",
        r"\b(?:not possible|impossible) to (?:answer|determine|say|tell|identify|conclude)\bGAP"
        r"(?:SHOWN|question|information)|\bSHOWN\bGAP\b(?:not possible|impossible) to (?:answer|"
        r"determine|say|tell|identify|conclude|provide|give|name)",
        r"\bunanswerable\b|\b(?:question|this|it) (?:can ?not|can't|could not) be (?:answered|"
        r"determined)",
        r"^\W*(?:unknown|not (?:stated|given|specified|mentioned|answerable)|no answer(?: found)?|"
        r"n/a)\W*$",
    ),
    "de": _rules(
        "de",
        r"\b(?:ich|wir) (?:kann|können|konnte|konnten)\bGAP\bnicht (?:\w+ )?(?:beantworten|finden|"
        r"sagen|feststellen|bestimmen|beurteilen)",
        r"\b(?:kann|können|konnte|konnten) (?:ich|wir|man)\bGAP\bnicht (?:\w+ )?(?:beantworten|"
        r"finden|sagen|feststellen|bestimmen|beurteilen|entnehmen)",
        r"\bfrage\bGAP\bnicht (?:\w+ )?(?:beantworte[nt]|beantwortbar|zu beantworten|geklärt)",
        r"\b(?:lässt|lassen) sich\bGAP\bnicht (?:\w+ )?(?:beantworten|entnehmen|feststellen|"
        r"bestimmen|ermitteln|sagen)",
        r"\bSHOWN\bGAP\b(?:enthalten|enthält|nennen|nennt|erwähnen|erwähnt|liefern|liefert|geben|"
        r"gibt|sagen|sagt|steht|stehen)\bGAP\b(?:nicht|nichts|keine?n?)\b",
        r"\b(?:enthalten|enthält|nennen|nennt|erwähnen|erwähnt|liefern|liefert|geben|gibt|sagen|"
        r"sagt) (?:die|der|das|diese|dieser) (?:\w+ )?SHOWN\bGAP\b(?:nicht|nichts|keine?n?)\b",
        r"\b(?:gibt es|es gibt|liegen|habe ich|ich habe|finde ich|finden sich|wurden?)\bGAP"
        r"\bkeine?n? (?:\w+ )?(?:informationen?|angaben?|antwort|hinweise?)\b",
        r"\bkeine?n? (?:\w+ )?(?:informationen?|angaben?|antwort|hinweise?)\bGAP(?:SHOWN|frage|"
        r"verfügbar|vorhanden|gefunden)",
        r"\bich weiß (?:\w+ ){0,2}nicht\b|\bweiß ich (?:\w+ )?nicht\b",
        r"\b(?:wird|werden|ist|sind)\bGAP\bSHOWN\bGAP\bnicht (?:\w+ )?(?:erwähnt|genannt|angegeben|"
        r"beschrieben|enthalten)",
        r"\bSHOWN\b (?:wird|werden|ist|sind)\bGAP\bnicht (?:\w+ )?(?:erwähnt|genannt|angegeben|"
        r"beschrieben|enthalten)",
        r"\b(?:nicht genug|nicht genügend|nicht ausreichend|unzureichende|zu wenig) "
        r"(?:informationen|angaben|kontext)",
        r"\b(?:informationen|angaben|SHOWN) reichen\bGAP\bnicht aus",
    ),
    "es": _rules(
        "es",
        r"\bno (?:puedo|podemos|he podido|pude|logro|es posible|se puede) (?:\w+ )?(?:responder|"
        r"contestar|encontrar|determinar|saber|confirmar|dar|proporcionar|precisar)",
        r"\bno (?:tengo|dispongo de|hay|existe|encuentro|encontré|he encontrado|se encuentra) "
        r"(?:\w+ ){0,2}(?:información|datos|mención|respuesta)",
        r"\bSHOWN\bGAP\bno (?:\w+ )?(?:contienen?|proporcionan?|mencionan?|indican?|dicen?|"
        r"especifican?|responden?|ofrecen?|incluyen?|dan|da|aclaran?)\b",
        r"\b(?:ning[uú]n|ninguno de los|ninguna de las) (?:\w+ )?SHOWN\bGAP\b(?:menciona|indica|"
        r"contiene|dice|responde|especifica)",
        r"\bno (?:se |est[áa] )(?:\w+ )?(?:menciona|indica|especifica|dice|mencionad[oa]|"
        r"indicad[oa])\bGAP\bSHOWN",
        r"\bno (?:lo )?sé\b|\bdesconozco (?:la respuesta|ese dato)\b",
        r"\b(?:información|datos|contexto) insuficientes?\b|\b(?:no hay|sin) suficientes? "
        r"(?:información|datos|contexto)|\b(?:información|datos) suficientes? para responder",
        r"\b(?:pregunta|esto) no (?:se puede|puede) (?:ser )?(?:responder|respondid[oa]|contestar)",
    ),
    "fr": _rules(
        "fr",
        r"\b(?:je|nous|on) ne (?:peux|peut|pouvons|parviens|suis) (?:pas|malheureusement pas)"
        r"(?: en mesure| à même)?(?: de| d['’]| à)? ?(?:\w+ )?(?:répondre|trouver|déterminer|dire|"
        r"fournir|confirmer|donner|savoir|identifier)",
        r"\bje (?:ne sais|n['’]ai) pas\b(?!GAP\bmais\b)",
        r"\bje n['’]ai (?:trouvé )?aucune\b|\bje ne (?:trouve|dispose)\bGAP\b(?:pas|aucune?)\b",
        r"\bSHOWN\bGAP\b(?:ne|n['’]) ?(?:\w+ )?(?:contien(?:t|nent)|mentionne(?:nt)?|"
        r"fourni(?:t|ssent)|permet(?:tent)?|précise(?:nt)?|indique(?:nt)?|di(?:t|sent)|"
        r"donne(?:nt)?|"
        r"répond(?:ent)?) (?:pas|aucune?|rien)\b",
        r"\baucun(?:e)? (?:des )?(?:\w+ )?SHOWN\bGAP\b(?:ne|n['’]) ?(?:mentionne|contient|indique|"
        r"précise|répond|donne|dit)",
        r"\b(?:aucune|pas d['’]) ?(?:information|réponse|mention|indication)s?\bGAP(?:SHOWN|"
        r"question|sujet)|\bil n['’]y a (?:\w+ )?(?:aucune|pas d['’]) ?(?:information|réponse|"
        r"mention|indication)",
        r"\b(?:n['’]est|ne sont) pas (?:\w+ )?(?:mentionnée?s?|précisée?s?|indiquée?s?|fournie?s?)"
        r"\bGAP\bSHOWN",
        r"\b(?:informations?|contexte|éléments) (?:\w+ )?insuffisante?s?\b|\bpas (?:assez|"
        r"suffisamment) d['’](?:informations?|éléments)",
        r"\bil (?:n['’]est pas possible|est impossible) de (?:répondre|déterminer|dire|savoir)",
    ),
    "it": _rules(
        "it",
        r"\bnon (?:posso|possiamo|sono in grado di|riesco a|è possibile|si può|ho potuto) (?:\w+ )?"
        r"(?:rispondere|trovare|determinare|dire|stabilire|fornire|confermare|sapere)",
        r"\bnon (?:ho|dispongo di|ci sono|c['’]è|esistono|ho trovato|trovo) (?:\w+ ){0,2}"
        r"(?:informazion[ei]|dati|risposta|menzione|riferimenti)",
        r"\bSHOWN\bGAP\bnon (?:\w+ )?(?:contengono|contiene|forniscono|fornisce|menzionano|"
        r"menziona|"
        r"indicano|indica|dicono|dice|specificano|specifica|rispondono|risponde|riportano|"
        r"riporta)\b",
        r"\bnessun[oa]? (?:dei |delle )?(?:\w+ )?SHOWN\bGAP\b(?:menziona|contiene|indica|dice|"
        r"risponde|riporta|specifica)",
        r"\bnon (?:è|sono|viene|vengono) (?:\w+ )?(?:menzionat[oaie]|indicat[oaie]|"
        r"specificat[oaie]|"
        r"riportat[oaie]|fornit[oaie])\bGAP\bSHOWN",
        r"\bnon (?:lo )?so\b(?!GAP\bma\b)|\bnon conosco la risposta",
        r"\b(?:informazioni|contesto|dati) insufficient[ei]\b|\b(?:informazioni|dati) sufficienti "
        r"per rispondere|\bnessuna (?:informazione|risposta)\bGAP(?:SHOWN|domanda)",
        r"\b(?:domanda|questo) non (?:può|ha)\bGAP\b(?:risposta|risolta)",
    ),
    "nl": _rules(
        "nl",
        r"\b(?:ik|we|wij) (?:kan|kunnen|kon|konden)\bGAP\bniet (?:\w+ )?(?:beantwoorden|vinden|"
        r"zeggen|bepalen|vaststellen|geven)",
        r"\b(?:kan|kunnen|kon) (?:ik|we|wij|men)\bGAP\bniet (?:\w+ )?(?:beantwoorden|vinden|zeggen|"
        r"bepalen|vaststellen|opmaken)",
        r"\b(?:vraag|dit) (?:kan|is)\bGAP\bniet (?:\w+ )?(?:beantwoord|te beantwoorden|worden "
        r"beantwoord|beantwoord worden)",
        r"\bSHOWN\bGAP\b(?:bevatten|bevat|geven|geeft|noemen|noemt|vermelden|vermeldt|zeggen|zegt|"
        r"bieden|biedt|staat|staan)\bGAP\b(?:niet|niets|geen)\b",
        r"\bSHOWN\bGAP\b(?:wordt|worden|is|zijn|staat)\bGAP\bniet (?:\w+ )?(?:vermeld|genoemd|"
        r"gegeven|beschreven)",
        r"\b(?:geven|geeft|bevatten|bevat|vermelden|noemen|zeggen) (?:de|het|deze) (?:\w+ )?SHOWN\b"
        r"GAP\b(?:niet|niets|geen)\b",
        r"\bgeen (?:van de )?(?:\w+ )?SHOWN\bGAP\b(?:bevat|geeft|noemt|vermeldt|zegt)",
        r"\b(?:er is|er zijn|ik heb|ik vind|heb ik|vind ik|is er|zijn er)\bGAP\bgeen (?:\w+ )?"
        r"(?:informatie|antwoord|gegevens|vermelding)\b",
        r"\bgeen (?:\w+ )?(?:informatie|antwoord|gegevens)\bGAP(?:SHOWN|vraag|beschikbaar|"
        r"gevonden)",
        r"\bik weet (?:\w+ ){0,2}niet\b|\bweet ik (?:\w+ )?niet\b",
        r"\b(?:wordt|worden|is|zijn|staat)\bGAP\bniet (?:\w+ )?(?:vermeld|genoemd|gegeven|"
        r"beschreven)\bGAP\bSHOWN|\b(?:wordt|worden|is|zijn|staat)\bGAP\bSHOWN\bGAP\bniet (?:\w+ )?"
        r"(?:vermeld|genoemd|gegeven|beschreven)",
        r"\b(?:onvoldoende|niet genoeg|te weinig) (?:informatie|gegevens|context)",
        r"\b(?:is|blijkt)\bGAP\bniet (?:\w+ )?(?:uit|op te maken uit)\bGAP\bSHOWN|"
        r"\bniet (?:mogelijk|"
        r"te zeggen|te bepalen)\bGAP\b(?:SHOWN|vraag)",
    ),
    "pt": _rules(
        "pt",
        r"\bnão (?:posso|podemos|consigo|foi possível|é possível|se pode|"
        r"pude) (?:\w+ )?(?:responder|"
        r"encontrar|determinar|dizer|saber|fornecer|confirmar|afirmar)",
        r"\bnão (?:tenho|disponho de|há|existe|existem|encontrei|encontro) (?:\w+ ){0,2}"
        r"(?:informaç(?:ão|ões)|dados|menção|resposta)",
        r"\bSHOWN\bGAP\bnão (?:\w+ )?(?:contêm|contém|fornecem?|mencionam?|indicam?|dizem|diz|"
        r"especificam?|respondem?|oferecem?|incluem|inclui|trazem|traz|informam?)\b",
        r"\b(?:nenhum|nenhuma) (?:dos |das )?(?:\w+ )?SHOWN\bGAP\b(?:menciona|contém|indica|diz|"
        r"responde|informa|especifica)",
        r"\bnão (?:é|são|foi|está|estão) (?:\w+ )?(?:mencionad[oa]s?|indicad[oa]s?|"
        r"especificad[oa]s?|informad[oa]s?|fornecid[oa]s?)\bGAP\bSHOWN",
        r"\b(?:eu )?não sei\b(?!GAP\bmas\b)|\bdesconheço a resposta",
        r"\b(?:informações|dados|contexto) insuficientes?\b|\b(?:informações|dados) suficientes "
        r"para responder|\bnenhuma (?:informação|resposta)\bGAP(?:SHOWN|pergunta)",
        r"\b(?:pergunta|isso) não pode ser (?:respondid[oa]|determinad[oa])",
    ),
}
"""Language to expressions, one of which an answer must hold somewhere to be a refusal.

That something "is not mentioned" or "is not known" is an answer, unless it is said of what was
shown, or by who answers.
"""
HYPOTHESIS = "The text says that the question cannot be answered."
"""What a judge is asked about an answer, which is the premise."""


def checked_detector(given: str) -> str:
    """A detector of refusals as it is declared: ``rules:LANG[,LANG…]`` or ``judge``.

    Raises:
        ValueError: rules without a language, or of one that there are no rules for.
    """
    name, _, languages = given.partition(":")
    if given == JUDGE:
        return given
    known = ", ".join(sorted(RULES))
    if name != "rules":
        raise ValueError(f"{given!r} detects no refusals; rules:LANG[,LANG…] ({known}) or judge")
    wanted = [one.strip() for one in languages.split(",") if one.strip()]
    if not wanted:
        raise ValueError(
            f"rules need a language: an answer in another one would never be a refusal; write "
            f"rules:LANG[,LANG…] with {known}"
        )
    strange = [one for one in wanted if one not in RULES]
    if strange:
        raise ValueError(f"there are no rules for the language {strange[0]!r}; known: {known}")
    return "rules:" + ",".join(dict.fromkeys(wanted))


@cache
def _expression(detector: str) -> re.Pattern[str]:
    languages = detector.partition(":")[2].split(",")
    return re.compile("|".join(rule for one in languages for rule in RULES[one]), re.IGNORECASE)


def is_refusal(text: str, detector: str) -> bool:
    """Whether an answer says that it gives none; an empty one does."""
    return not text.strip() or _expression(detector).search(text) is not None
