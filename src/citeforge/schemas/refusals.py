"""Detectors of refusals: rules of several languages, or a question for a judge."""

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt", "zh")
"""Languages that there are rules for."""
EVERY_LANGUAGE = "rules:" + ",".join(LANGUAGES)
"""Detector by the rules of all languages."""
VERSION = 2
"""Version of the rules, in signatures."""
JUDGE = "judge"
HYPOTHESIS = "The text says that the question cannot be answered."
"""What a judge decides about an answer, which is the premise."""


def checked_detector(detector: str) -> str:
    """Check and normalise a refusal detector's name: ``rules:LANG[,LANG…]`` or ``judge``.

    Raises:
        ValueError: rules without a language, or of one that there are no rules for.
    """
    name, _, codes = detector.partition(":")
    if detector == JUDGE:
        return detector
    allowed = ", ".join(LANGUAGES)
    if name != "rules":
        raise ValueError(
            f"{detector!r} detects no refusals; rules:LANG[,LANG…] ({allowed}) or judge"
        )
    languages = [code.strip() for code in codes.split(",") if code.strip()]
    if not languages:
        raise ValueError(
            f"rules need a language: an answer in another one would never be a refusal; write "
            f"rules:LANG[,LANG…] with {allowed}"
        )
    unknown = [code for code in languages if code not in LANGUAGES]
    if unknown:
        raise ValueError(f"there are no rules for the language {unknown[0]!r}; known: {allowed}")
    return "rules:" + ",".join(dict.fromkeys(languages))


def signed_detector(detector: str | None) -> str | None:
    """Write a refusal detector for a score signature: its rules with version, or the judge."""
    if detector is None or detector == JUDGE:
        return detector and f"refusals={JUDGE}"
    return f"refusals={detector.replace(':', '-')}@{VERSION}"
