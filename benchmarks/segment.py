"""Sentence segmenters on texts that others have split: GUM, EWT and pysbd's Golden Rules.

`CITEFORGE_SEGMENT_DATA` names a folder with `en_gum-ud-test.conllu` and `en_ewt-ud-test.conllu`
(Universal Dependencies 2.16) and `english_golden_rules.py` (`benchmarks/` of pysbd 0.3.4). The
texts are the paragraphs of the treebanks, joined by their `SpaceAfter`; counted are the boundaries
inside a paragraph. A Golden Rule counts when all its sentences are found.
"""

import ast
import os
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

Split = Callable[[str], list[str]]
Texts = list[tuple[str, list[str]]]

TREEBANKS = {"GUM": "en_gum-ud-test.conllu", "EWT": "en_ewt-ud-test.conllu"}
RULES = "english_golden_rules.py"


def read_paragraphs(lines: Iterator[str]) -> Texts:
    """Paragraphs of a CoNLL-U file with their sentences."""
    paragraphs: list[list[tuple[str, str]]] = []
    words: list[str] = []
    until = 0  # last word of the token that is being read, e.g. of `don't` over `do` and `n't`
    for line in lines:
        if line.startswith(("# newdoc", "# newpar id", "# newpar\n")):
            paragraphs.append([])
        elif line == "\n":
            sentence = "".join(words)
            if not paragraphs:
                paragraphs.append([])
            paragraphs[-1].append((sentence.rstrip(), sentence[len(sentence.rstrip()) :]))
            words, until = [], 0
        elif not line.startswith("#"):
            cells = line.rstrip("\n").split("\t")
            number = cells[0]
            if "." in number or ("-" not in number and int(number) <= until):
                continue
            if "-" in number:
                until = int(number.split("-")[1])
            words.append(cells[1] + ("" if "SpaceAfter=No" in cells[9] else " "))
    texts: Texts = []
    for paragraph in paragraphs:
        if paragraph:
            text = "".join(s + space for s, space in paragraph).strip()
            texts.append((text, [s for s, _ in paragraph]))
    return texts


def read_rules(path: Path) -> Texts:
    """pysbd's list, read as a literal and never run."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            found: Texts = ast.literal_eval(node.value)
            return found
    raise ValueError(f"{path}: no list of rules")


def ends(text: str, sentences: list[str]) -> set[int]:
    """Inner boundaries, as numbers of characters before them that are no white space."""
    found = set()
    at = 0
    for sentence in sentences:
        at += sum(not c.isspace() for c in sentence)
        found.add(at)
    return {e for e in found if 0 < e < sum(not c.isspace() for c in text)}


def f1(split: Split, texts: Texts) -> tuple[float, float, float]:
    """Precision, recall and F1 of inner boundaries over all texts."""
    hits = given = wanted = 0
    for text, sentences in texts:
        right, ours = ends(text, sentences), ends(text, split(text))
        hits += len(right & ours)
        given += len(ours)
        wanted += len(right)
    precision, recall = hits / given if given else 0.0, hits / wanted
    return precision, recall, 2 * precision * recall / (precision + recall or 1)


def rules_kept(split: Split, rules: Texts) -> list[int]:
    """Numbers (from 1) of the rules whose sentences are all found."""
    return [
        number
        for number, (text, sentences) in enumerate(rules, 1)
        if ends(text, split(text)) == ends(text, sentences)
    ]


def segmenters() -> dict[str, Split]:
    """Ours, and each peer that is installed."""
    from citeforge.engines.running.names import make_segmenter

    def of_name(name: str) -> Split:
        segmenter = make_segmenter(name)
        return lambda text: [text[s:e] for s, e in segmenter.split(text)]

    found = {name: of_name(name) for name in ("nupunkt", "punkt")}
    if find_spec("pysbd"):
        import pysbd

        peer = pysbd.Segmenter(language="en", clean=False)
        found["pysbd"] = lambda text: list(peer.segment(text))
    if find_spec("nupunkt"):
        import nupunkt

        found["nupunkt alone"] = lambda text: list(nupunkt.sent_tokenize(text))
    if find_spec("blingfire"):
        import blingfire

        found["blingfire"] = lambda text: str(blingfire.text_to_sentences(text)).split("\n")
    if find_spec("spacy"):
        import spacy

        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        found["sentencizer"] = lambda text: [s.text for s in pipeline(text).sents]
    return found


def main() -> None:
    """Print a table: F1 on GUM and EWT, Golden Rules kept, microseconds a kilobyte."""
    folder = os.environ.get("CITEFORGE_SEGMENT_DATA")
    if not folder:
        print("set CITEFORGE_SEGMENT_DATA")
        return
    banks = {}
    for name, file in TREEBANKS.items():
        with (Path(folder) / file).open(encoding="utf-8", newline="\n") as lines:
            banks[name] = read_paragraphs(lines)
    rules = read_rules(Path(folder) / RULES)
    print("| segmenter | GUM P | R | F1 | EWT P | R | F1 | Golden Rules | µs/kB |")
    print("| --- " * 9 + "|")
    for name, split in segmenters().items():
        split("One. Two.")
        cells = []
        start = time.process_time()
        for texts in banks.values():
            cells += [f"{value:.3f}" for value in f1(split, texts)]
        seconds = time.process_time() - start
        size = sum(len(text) for texts in banks.values() for text, _ in texts)
        kept = rules_kept(split, rules)
        print(f"| {name} | {' | '.join(cells)} | {len(kept)}/{len(rules)} "
              f"| {seconds * 1e9 / size:.0f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
