"""Groups of options: which commands offer them together, and under which heading of the help."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Group:
    """Annotation of fields that are options together; a field may be in several.

    Attributes:
        heading: heading in ``--help-all``; empty for the first page. The first one of a field wins.
    """

    heading: str = ""


FIRST_PAGE = Group()
"""Options that ``--help`` shows, too."""
FOLDER = Group()
"""Output folder, and what to do if it exists."""
DRY = Group()
"""The option that only says what a command would ask of models."""
SETTING = Group()
"""Options that citeforge.toml or the environment may set.

None names an endpoint or a file, which a cloned folder must not choose, and none decides a verdict
or a reply: a score would depend on a file that it does not name.
"""
JUDGE = Group("How the judge decides")
VERDICTS = Group(JUDGE.heading)
EMBEDDING = Group("Embedding")
CACHE = Group(EMBEDDING.heading)
NEGATIVES = Group("Which negatives are mined")
POOL = Group("Judgements by a model")
ROWS = Group("Which rows are read and kept")
SECRET = Group(ROWS.heading)
QUESTIONS = Group("How questions and rewrites are made")
MEASURES = Group("How measures are computed")
TRACKERS = Group("Experiment trackers")
PROMPTS = Group("How an LLM is prompted")
PREFERENCES = Group("Preferences of people")
ENDPOINTS = Group("Endpoints, and limits of LLMs")
LOCAL = Group("Models on this machine")
RUNNER = Group("Several machines")
GRAPHS = Group("Endpoints of knowledge graphs")
SCRIPTS = Group("Scripts")
HEADINGS = tuple(
    group.heading
    for group in (
        JUDGE, EMBEDDING, NEGATIVES, POOL, ROWS, QUESTIONS, MEASURES, TRACKERS, PROMPTS,
        PREFERENCES, ENDPOINTS, LOCAL, RUNNER, GRAPHS, SCRIPTS,
    )
)  # fmt: skip
"""Headings of ``--help-all``, in order; those of plugins follow."""
