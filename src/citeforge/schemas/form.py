"""Records of what the form of passages tells about hidden labels (``form.json``)."""

from citeforge.schemas.record import Record

EVERYTHING = "all features together"
FIELD = "metadata "
"""Start of the name of a feature that is a field of the metadata."""
LEVEL = 0.05
"""Probability of a false warning, over all features together."""


class FeatureTest(Record):
    """Result of one attacker with one feature of form.

    Attributes:
        feature: name of the feature, such as ``title present``.
        attacker: model that learnt it.
        alone: relevant passages found by the feature alone; None where that was not tried.
        z: standard errors of ``alone`` above chance.
        with_texts: relevant passages found by shared words and feature together.
        p: probability that the feature adds so much to shared words by chance, corrected for all
            tests of the audit.
    """

    feature: str
    attacker: str
    alone: int | None = None
    z: float | None = None
    with_texts: int
    p: float

    @property
    def tells(self) -> bool:
        """Whether a feature of form (length, title, …) gives away which passages are relevant."""
        return self.p < LEVEL


class FormAudit(Record):
    """Audit of the form of the passages that a context set with hidden labels shows.

    Attributes:
        context: context set; empty if nothing was audited.
        queries: audited queries, which have both relevant passages and others.
        passages: positions in contexts.
        relevant: relevant ones among these.
        chance: relevant passages that blind guesses find.
        error: standard error of that number.
        texts: relevant passages that each attacker finds by the words shared with the question.
        tests: results by feature, and of all features together.
        not_audited: reason why nothing was audited; empty otherwise.
    """

    context: str = ""
    queries: int = 0
    passages: int = 0
    relevant: int = 0
    chance: float = 0.0
    error: float = 0.0
    texts: dict[str, int] = {}
    tests: list[FeatureTest] = []
    not_audited: str = ""

    @property
    def n_features(self) -> int:
        """Number of features of form (length, title, …) that the audit tested."""
        return len({test.feature for test in self.tests} - {EVERYTHING})

    @property
    def telling_fields(self) -> set[str]:
        """Fields of the passages' metadata that give away which passages are relevant."""
        names = {test.feature for test in self.tests if test.tells}
        return {name.removeprefix(FIELD) for name in names if name.startswith(FIELD)}
