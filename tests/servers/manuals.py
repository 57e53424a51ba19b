"""What a scripted endpoint writes and answers about `examples/manuals`."""

FACTS = (
    ("burns birch logs of at most 33 cm", "How long may firewood for the hut's tiled stove be?",
     "at most 33 cm", "The tiled stove burns birch logs of at most 33 cm."),
    ("primed with two litres of warm water", "How much water goes into the pump in winter?",
     "two litres", "After frost the hand pump must be primed with two litres of warm water."),
    ("listens on channel 8 from six in the morning", "Where on the radio is help called?",
     "channel 8", "The rescue service of the valley listens on channel 8."),
    ("Runa Bjelke, the warden, keeps the spare key", "Who has a second way into the hut?",
     "Runa Bjelke", "Runa Bjelke keeps the spare key."),
)  # fmt: skip
"""Words of a passage, a question about them, its answer, and that in a sentence."""

DESIGN = """\
users:
- {name: fitter, description: a fitter on a building site}
questions:
- {name: single, share: 2}
- {name: number}
wishes_left: [Half of the questions are hard.]
"""
"""A design of questions about torques."""


def replies() -> list[list[str]]:
    """Patterns of prompts and what is said to them."""
    result = []
    for words, question, answer, statement in FACTS:
        lines = (f"Question: {question}", f"Answer: {answer}", f"Statement: {statement}")
        about = question.removesuffix("?")
        result += [
            [f"{words}.*exam", "\n".join([*lines, f"Quote: {words}"])],
            [rf"{words}.*Question:\n\S+\n{about}", answer],
        ]
    return [*result, ["You design the questions", DESIGN], [".", "NOT ANSWERED"]]
