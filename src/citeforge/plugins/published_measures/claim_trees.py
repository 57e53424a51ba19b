"""Atomic claims of a sentence with citations at several positions, by its dependency tree.

After Xu et al. 2025 (ALiiCE, arXiv 2406.13375): the claim of a position is the tree without the
parts that belong to the other positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from citeforge.engines.text.spacy_models import AUTO, english_model, installed_pipeline
from citeforge.engines.text.spacy_models import pipeline_name as name_of
from citeforge.evaluator.submissions.tools import CannotError
from citeforge.schemas.errors import InputError, install_command

ROOT = "ROOT"
_CLAUSES = frozenset({"prep", "advcl"})
_CONJUNCTIONS = frozenset({"cc", "CC"})


@dataclass(frozen=True)
class Parsed:
    """A sentence as a parser reads it.

    Attributes:
        words: its tokens.
        heads: index of the token that each depends on; its own for a root.
        labels: what each is to its head; ``ROOT`` for a root.
    """

    words: Sequence[str]
    heads: Sequence[int]
    labels: Sequence[str]


@cache
def _load_pipeline() -> Any:
    """Load spaCy's small English model once.

    Raises:
        CannotError: it is not installed, or spaCy is not.
    """
    try:
        model = english_model(AUTO)
        if model is not None:
            return installed_pipeline(model)
    except (ImportError, InputError):
        pass
    raise CannotError(
        f"needs a parser of English, spaCy's en_core_web_sm: {install_command('ner')}",
        code="missing-extra",
    )


def parser_name() -> str:
    """Get name and version of the dependency parser, for score signatures.

    Raises:
        CannotError: there is none.
    """
    return name_of(_load_pipeline()).replace(":", "-")


@lru_cache(maxsize=10_000)
def parse(text: str) -> Parsed:
    """Parse an English sentence: words, heads and dependency labels.

    Raises:
        CannotError: there is no parser.
    """
    tokens = list(_load_pipeline()(text))
    return Parsed([t.text for t in tokens], [t.head.i for t in tokens], [t.dep_ for t in tokens])


@dataclass(eq=False)
class Node:
    """A token in a tree.

    Attributes:
        index: position in the sentence.
        word: its text.
        children: tokens that depend on it; one may be listed twice (see :func:`_replace_by_child`).
        labels: what each child is to it, by index; None for one that was moved here.
    """

    index: int
    word: str
    children: list[Node] = field(default_factory=list)
    labels: dict[int, str | None] = field(default_factory=dict)

    def walk(self) -> Iterator[Node]:
        """Yield the node and its descendants."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children

    def find(self, index: int) -> Node | None:
        """Find the node of a token, by index, among this node and its descendants, or None."""
        return next((node for node in self.walk() if node.index == index), None)

    def child_above(self, index: int) -> Node:
        """Find the child whose subtree contains a token, by index."""
        return next(child for child in self.children if child.find(index) is not None)

    def add(self, child: Node, label: str | None) -> None:
        """Append a child node with its dependency label."""
        self.children.append(child)
        self.labels[child.index] = label

    def remove(self, child: Node) -> None:
        """Remove a node from the children, if it is one of them."""
        if child in self.children:
            self.children.remove(child)
            self.labels.pop(child.index, None)


def build_tree(parsed: Parsed) -> Node:
    """Build the dependency tree of a parsed sentence; of several roots the last one's."""
    nodes = [Node(i, word) for i, word in enumerate(parsed.words)]
    root = nodes[0]
    for node, head, label in zip(nodes, parsed.heads, parsed.labels, strict=True):
        if label == ROOT:
            root = node
        else:
            nodes[head].add(node, label)
    return root


def claim_tokens(parsed: Parsed, cited: Collection[int], claim_token: int) -> list[int]:
    """List the token indices of the claim that the citation at one token is for.

    Args:
        parsed: the sentence.
        cited: tokens at which passages are cited.
        claim_token: the token of the claim, one of these.
    """
    root = build_tree(parsed)
    mine = root.find(claim_token)
    if mine is None:  # below another root
        return []
    for index in cited:
        if index != claim_token and (other := root.find(index)) is not None:
            root = _remove_other_claim(root, mine, other)
    return sorted({node.index for node in root.walk()})


def _remove_other_claim(root: Node, claim_node: Node, other_node: Node) -> Node:
    """Remove another cited token's claim (its node) from a dependency tree; return the root.

    Args:
        root: of the tree, which is changed.
        claim_node: the token whose claim is looked for.
        other_node: the other token.
    """
    joint = _find_lowest_common_node(root, claim_node, other_node)
    if joint is claim_node:
        joint.remove(joint.child_above(other_node.index))
        return root
    mine_below = joint.child_above(claim_node.index)
    if joint is other_node:
        _replace_by_child(root, joint, mine_below)
        return root
    other_below = joint.child_above(other_node.index)
    first, last = sorted((mine_below.index, other_below.index))
    between = [
        child for child in joint.children
        if first < child.index < last
        and (child.word == "," or joint.labels.get(child.index) in _CONJUNCTIONS)
    ]  # fmt: skip
    if not between:
        if joint is root:
            return mine_below
        joint.remove(other_below)
        return root
    is_first = mine_below.index < other_below.index
    leading = mine_below if is_first else other_below
    is_clause = (
        joint is root
        and joint.labels.get(leading.index) in _CLAUSES
        and leading.find(0) is not None
    )
    if (is_first and is_clause) or (not is_first and joint is root and not is_clause):
        return mine_below
    if not is_first and joint is not root:
        label = joint.labels.get(mine_below.index)
        joint.children, joint.labels = [mine_below], {mine_below.index: label}
        return root
    for child in (other_below, *between):
        joint.remove(child)
    return root


def _find_lowest_common_node(root: Node, first: Node, second: Node) -> Node:
    """Find the lowest common ancestor of two nodes of a dependency tree."""
    node = root
    while node is not first and node is not second:
        wanted = {first.index, second.index}
        below = [c for c in node.children if any(n.index in wanted for n in c.walk())]
        if len(below) != 1:
            break
        node = below[0]
    return node


def _replace_by_child(root: Node, node: Node, child: Node) -> None:
    """Replace a node of a dependency tree by one of its children.

    The root has no place in another node: its child is then listed twice, as in the authors' code.
    """
    parent = next((n for n in root.walk() if node in n.children), root)
    parent.add(child, None)
    parent.remove(node)
