"""Signatures and what tells two apart."""

from citeforge.schemas.signature import Signature, differing_parts


def test_rendered_in_one_line() -> None:
    signature = Signature(
        measure="ALCE.CitRec",
        protocol="strict",
        grammar="1,strict",
        context="own",
        benchmark="hagrid@12345678",
        judge="hf:some/model@abc",
        segmenter="spacy-3.8",
        version="9.9.9",
    )
    assert str(signature) == (
        "ALCE.CitRec|p:strict|judge:hf:some/model@abc|seg:spacy-3.8|gram:1,strict|ctx:own"
        "|bench:hagrid@12345678|v:9.9.9"
    )


def test_differing_parts_are_named() -> None:
    first = "CiteP|p:strict|gram:1,strict|ctx:mix|bench:a@1|v:1"
    second = "CiteP|p:reference|gram:1,rage|ctx:mix|bench:a@1|v:1"
    assert differing_parts(first, second) == ["p: strict / reference", "gram: 1,strict / 1,rage"]
    assert differing_parts(first, first) == []
