"""What a refusal looks like: rules of several languages, or the question for a judge."""

from __future__ import annotations

import re
from functools import cache

JUDGE = "judge"
RULES: dict[str, tuple[str, ...]] = {
    "en": (
        r"\b(i|we) (can ?not|can't|could not|couldn't|am unable|are unable)\b",
        r"\b(i|we) (do not|don't) know\b",
        r"\b(is|are|was|were) (not|n't) (mentioned|provided|stated|answered|available|specified)\b",
        r"\bno (relevant )?(information|answer|passage|evidence)\b",
        r"\b(do|does|did)( not|n't) (contain|provide|mention|answer|say|state|include)\b",
        r"\b(insufficient|not enough) (information|evidence|context)\b",
        r"\bunanswerable\b|\bcan ?not be answered\b",
    ),
    "de": (
        r"\b(kann|konnte|können) .{0,60}\bnicht (beantworte[nt]|finden|sagen|beantwortet werden)\b",
        r"\bkeine?n? (\w+ )?(informationen?|angaben?|antwort|hinweise?)\b",
        r"\b(weiß|wissen) (ich|wir)? ?(es|das)? ?nicht\b",
        r"\bnicht (erwähnt|genannt|angegeben|enthalten)\b",
    ),
    "es": (
        r"\bno (puedo|podemos|se puede|es posible) (responder|contestar|encontrar|determinar)\b",
        r"\bno (hay|contienen?|proporcionan?|mencionan?|se menciona)\b",
        r"\bno (lo )?(sé|sabemos)\b",
        r"\b(información|datos) insuficientes?\b",
    ),
    "fr": (
        r"\b(je|nous|on) ne (peux|peut|pouvons|sais|savons) pas\b",
        r"\bne (contien(t|nen)t?|mentionnent?|fourni(t|ssent)|permet(tent)?|précisent?) pas\b",
        r"\b(aucune|pas d['’]) ?(information|réponse)\b",
        r"\b(informations?|contexte) insuffisante?s?\b",
    ),
    "it": (
        r"\bnon (posso|possiamo|è possibile|si può) (rispondere|trovare|determinare)\b",
        r"\bnon (contengono|contiene|forniscono|fornisce|menzionano|menziona|ci sono|c['’]è)\b",
        r"\bnon (lo )?(so|sappiamo)\b",
        r"\b(informazioni insufficienti|nessuna (informazione|risposta))\b",
    ),
    "nl": (
        r"\b(kan|kunnen) .{0,60}\bniet (beantwoorden|vinden|zeggen|beantwoord worden)\b",
        r"\bgeen (relevante )?(informatie|antwoord|gegevens)\b",
        r"\b(weet|weten) (ik|we)? ?(het|dat)? ?niet\b",
        r"\bniet (vermeld|genoemd|gegeven)\b",
    ),
    "pt": (
        r"\bnão (posso|podemos|é possível|consigo) (responder|encontrar|determinar)\b",
        r"\bnão (há|contêm|contém|fornecem?|mencionam?|é mencionad[oa])\b",
        r"\bnão (sei|sabemos)\b",
        r"\b(informações insuficientes|nenhuma (informação|resposta))\b",
    ),
}
"""Language to expressions, one of which an answer must hold somewhere to be a refusal."""
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
