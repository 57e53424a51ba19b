"""The sources that citeforge reads. A new one is a file here and an entry below."""

from __future__ import annotations

from dataclasses import replace

from citeforge.engines.registry import Registry
from citeforge.ir_convert.alce import open_alce
from citeforge.ir_convert.attrieval import open_attrieval
from citeforge.ir_convert.beir import open_beir
from citeforge.ir_convert.corpus import open_corpus_files
from citeforge.ir_convert.hagrid import open_hagrid, open_hagrid_hub
from citeforge.ir_convert.hub.layout import (
    open_beir_hub,
    open_corpus_hub,
    open_mteb,
    open_rage,
    open_rage_hub,
)
from citeforge.ir_convert.ir_datasets import open_ir_datasets
from citeforge.ir_convert.kalma import open_kalma
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.ir_convert.trec import open_miracl, open_trec
from citeforge.schemas.benchmarks.sources import Declaration
from citeforge.schemas.errors import UnknownValueError, UsageError

_BEIR = """@inproceedings{thakur2021beir,
  title = {{BEIR}: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models},
  author = {Thakur, Nandan and Reimers, Nils and R{\\"u}ckl{\\'e}, Andreas and Srivastava, Abhishek and Gurevych, Iryna},
  booktitle = {NeurIPS Datasets and Benchmarks},
  year = {2021}
}"""
_HAGRID = """@article{kamalloo2023hagrid,
  title = {{HAGRID}: A Human-{LLM} Collaborative Dataset for Generative Information-Seeking with Attribution},
  author = {Kamalloo, Ehsan and Jafari, Aref and Zhang, Xinyu and Thakur, Nandan and Lin, Jimmy},
  journal = {arXiv:2307.16883},
  year = {2023}
}"""
_ALCE = """@inproceedings{gao2023alce,
  title = {Enabling Large Language Models to Generate Text with Citations},
  author = {Gao, Tianyu and Yen, Howard and Yu, Jiatong and Chen, Danqi},
  booktitle = {EMNLP},
  year = {2023}
}"""
_RAGE = """@inproceedings{penzkofer2024rage,
  title = {Evaluating and Fine-Tuning Retrieval-Augmented Language Models to Generate Text With Accurate Citations},
  author = {Penzkofer, Vinzent and Baumann, Timo},
  booktitle = {KONVENS},
  year = {2024}
}"""

_TREC = """@book{voorhees2005trec,
  title = {{TREC}: Experiment and Evaluation in Information Retrieval},
  author = {Voorhees, Ellen M. and Harman, Donna K.},
  publisher = {MIT Press},
  year = {2005}
}"""
_MIRACL = """@article{zhang2023miracl,
  title = {{MIRACL}: A Multilingual Retrieval Dataset Covering 18 Diverse Languages},
  author = {Zhang, Xinyu and Thakur, Nandan and Ogundepo, Odunayo and Kamalloo, Ehsan and Alfonso-Hermelo, David and Li, Xiaoguang and Liu, Qun and Rezagholizadeh, Mehdi and Lin, Jimmy},
  journal = {TACL},
  year = {2023}
}"""
_MTEB = """@inproceedings{muennighoff2023mteb,
  title = {{MTEB}: Massive Text Embedding Benchmark},
  author = {Muennighoff, Niklas and Tazi, Nouamane and Magne, Lo{\\"i}c and Reimers, Nils},
  booktitle = {EACL},
  year = {2023}
}"""
_IRDS = """@inproceedings{macavaney2021simplified,
  title = {Simplified Data Wrangling with ir\\_datasets},
  author = {MacAvaney, Sean and Yates, Andrew and Feldman, Sergey and Downey, Doug and Cohan, Arman and Goharian, Nazli},
  booktitle = {SIGIR},
  year = {2021}
}"""
_ATTRIEVAL = """@inproceedings{abolghasemi2025evaluation,
  title = {Evaluation of Attribution Bias in Generator-Aware Retrieval-Augmented Large Language Models},
  author = {Abolghasemi, Amin and Azzopardi, Leif and Hashemi, Seyyed Hadi and de Rijke, Maarten and Verberne, Suzan},
  year = {2025}
}"""
_EACH = "that of each data set; give it with --licence"

_BEIR_BECOMES = "corpus, queries; judgements above zero become `mapping/relevant`"
_RAGE_BECOMES = "corpus, queries and the three mappings as they are; `--remine` mines anew"
_HAGRID_BECOMES = (
    "quotes become corpus and `mapping/relevant`; all answers with type, labels, sentence labels "
    "and citations become `gold`"
)
_KALMA = """@inproceedings{li2024towards,
  title = {Towards Verifiable Generation: A Benchmark for Knowledge-aware Language Model Attribution},
  author = {Li, Xinze and Cao, Yixin and Pan, Liangming and Ma, Yubo and Sun, Aixin},
  booktitle = {Findings of ACL},
  year = {2024}
}"""


DECLARATIONS = {
    d.name: d
    for d in (
        Declaration(
            name="beir",
            title="BEIR folder or zip",
            factory=open_beir,
            argument="folder, or .zip of one, with corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv",
            splits="every qrels/SPLIT.tsv (default test)",
            becomes=_BEIR_BECOMES,
            licence="that of each data set; give it with --licence",
            citation=_BEIR,
        ),
        Declaration(
            name="beir-hub",
            title="BEIR on the Hub",
            factory=open_beir_hub,
            argument="REPO[@revision]; judgements are read from REPO-qrels",
            splits="splits of REPO-qrels (default test)",
            becomes=_BEIR_BECOMES,
            licence="that of each data set; give it with --licence",
            citation=_BEIR,
        ),
        Declaration(
            name="hagrid",
            title="HAGRID JSON Lines",
            factory=open_hagrid,
            argument="a train.jsonl or dev.jsonl in HAGRID's layout",
            splits="one file is one split: train (1,922 questions), dev (716)",
            becomes=_HAGRID_BECOMES,
            licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
            licence_id="cc-by-sa-3.0",
            citation=_HAGRID,
        ),
        Declaration(
            name="hagrid-hub",
            title="HAGRID on the Hub",
            factory=open_hagrid_hub,
            argument="train or dev, optionally @revision",
            splits="train (1,922 questions), dev (716)",
            becomes=_HAGRID_BECOMES,
            licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
            licence_id="cc-by-sa-3.0",
            citation=_HAGRID,
        ),
        Declaration(
            name="alce",
            title="ALCE items (ASQA, QAMPARI, ELI5)",
            factory=open_alce,
            argument="a JSON file: a list of items, or an object with `data`",
            splits="one file is one split (eval)",
            becomes=(
                "docs become corpus; those that carry a short answer `mapping/relevant`; qa_pairs, "
                "long answers and answer lists `gold`. ELI5 needs `--judge`: docs that entail a claim"
            ),
            licence="MIT (ALCE's files); the questions keep the licence of their data set",
            licence_id="mit",
            citation=_ALCE,
        ),
        Declaration(
            name="rage",
            title="RAGE package, local",
            factory=open_rage,
            argument="folder with the configs corpus, queries, mapping",
            splits="one",
            becomes=_RAGE_BECOMES,
            licence="that of the package",
            citation=_RAGE,
        ),
        Declaration(
            name="rage-hub",
            title="RAGE package on the Hub",
            factory=open_rage_hub,
            argument="REPO[@revision], such as othr-nlp/rage_nq or othr-nlp/rage_hotpotqa",
            splits="one",
            becomes=_RAGE_BECOMES,
            licence="that of the package",
            citation=_RAGE,
        ),
        Declaration(
            name="trec",
            title="TREC topics, qrels and a corpus",
            factory=open_trec,
            argument="folder with topics.tsv (or `<top>` blocks), qrels.txt and corpus.jsonl (docid, title, text)",
            splits="topics.SPLIT.tsv and qrels.SPLIT.txt, where there are several",
            becomes=_BEIR_BECOMES,
            licence=_EACH,
            citation=_TREC,
        ),
        Declaration(
            name="miracl",
            title="MIRACL, any language",
            factory=open_miracl,
            argument="folder of one language: topics, qrels, docs-*.jsonl.gz",
            splits="those of its topics and qrels (default dev)",
            becomes=_BEIR_BECOMES,
            licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
            licence_id="cc-by-sa-3.0",
            citation=_MIRACL,
        ),
        Declaration(
            name="mteb",
            title="MTEB retrieval",
            factory=open_mteb,
            argument="REPO[@revision] or a folder with the configs corpus, queries, default or qrels",
            splits="those of its judgements (default test)",
            becomes=_BEIR_BECOMES,
            licence=_EACH,
            citation=_MTEB,
        ),
        Declaration(
            name="ir-datasets",
            title="ir_datasets",
            factory=open_ir_datasets,
            argument="an id of the library's catalogue, with documents, queries and judgements",
            splits="part of the id",
            becomes=_BEIR_BECOMES,
            licence=_EACH,
            citation=_IRDS,
        ),
        Declaration(
            name="attrieval",
            title="AttriEval, and MS MARCO QA rows",
            factory=open_attrieval,
            argument="folder saved by `datasets`, or JSON Lines; passages{passage_text, is_selected}",
            splits="one",
            becomes="passages become corpus, selected ones `mapping/relevant`, the others "
            "`mapping/seemingly_relevant` in the order listed; answers `gold`",
            licence=_EACH,
            citation=_ATTRIEVAL,
        ),
        Declaration(
            name="corpus",
            title="Passages alone",
            factory=open_corpus_files,
            argument="a .jsonl, .jsonl.gz or .parquet file with `_id` (or id, docid, doc_id, pid), `text` (or contents, passage) and `title`, or a folder of them",
            splits="one",
            becomes="passages to mine from, with `--extra-corpus` or `build alce --corpus`",
            licence="say it with --extra-licence",
            citation="",
        ),
        Declaration(
            name="corpus-hub",
            title="Passages alone, on the Hub",
            factory=open_corpus_hub,
            argument="REPO[@revision] or a folder, with a config `corpus` or only one; columns as for `corpus:`",
            splits="one",
            becomes="passages to mine from, with `--extra-corpus` or `build alce --corpus`",
            licence="say it with --extra-licence",
            citation="",
        ),
        Declaration(
            name="kalma",
            title="BioKaLMA's published questions",
            factory=open_kalma,
            argument="JSON file of `[question, [graph, …]]`, for `build kalma`",
            splits="one",
            becomes="questions become queries, their graphs `contexts`; gold with `--gold FILE`",
            licence="S-Lab Licence 1.0, non-commercial; facts from Wikidata, CC0",
            citation=_KALMA,
        ),
    )
}


def _unknown(spec: str) -> UsageError:
    name, _, argument = spec.partition(":")
    if argument and name not in DECLARATIONS:
        return UnknownValueError("source", name, DECLARATIONS)
    known = ", ".join(DECLARATIONS)
    return UsageError(f"--source {spec!r}: expected KIND:ARGUMENT, with KIND of {known}")


SOURCES: Registry[Declaration, Source] = Registry(
    "source",
    "sources",
    list(DECLARATIONS.values()),
    {},
    "info passages queries relevant gold mined where",
    _unknown,
)


def licence_of(name: str) -> str | None:
    """SPDX identifier of the data of a source, when it has one; None for one that nobody has."""
    declared = SOURCES.get(name)
    return None if declared is None else declared.licence_id


def citation_of(name: str) -> str:
    """BibTeX of a source; empty for one that nobody has."""
    declared = SOURCES.get(name)
    return "" if declared is None else declared.citation


def open_source(spec: str, split: str | None, options: ReadOptions) -> Source:
    """Open a source named ``kind:argument``.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    return SOURCES.make(spec, split, options)


def open_corpus(spec: str, split: str | None, options: ReadOptions, option: str) -> Source:
    """Open a source of which only the passages are wanted.

    Args:
        spec: ``kind:argument``.
        split: of the source; None for its default.
        options: permissions.
        option: what the user named it with, for messages.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    name, _, argument = spec.partition(":")
    if not argument:
        raise UsageError(
            f"{option} {spec!r}: expected KIND:ARGUMENT, such as corpus:FOLDER; see "
            "`citeforge sources`"
        )
    if SOURCES.get(name) is None:
        raise UsageError(f"{option} {spec!r}: {UnknownValueError('source', name, DECLARATIONS)}")
    return SOURCES.make(spec, split, replace(options, passages_only=True))
