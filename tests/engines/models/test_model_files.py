"""How signatures name models."""

import hashlib
import json
from pathlib import Path

from citeforge.engines.model_files import sign_model


def test_folders_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    signed = []
    for parent, text in (("a", b"{}"), ("b", b"{} "), ("c", b"{}")):
        folder = tmp_path / parent / "model"
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(text)
        (folder / "notes.md").write_text(parent)  # no part of a model
        signed.append(sign_model(str(folder)))
    content = {"config.json": hashlib.sha256(b"{}").hexdigest()}
    expected = hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()
    assert signed[0] == f"model@{expected[:12]}"
    assert signed[0] == signed[2] != signed[1]


def test_a_name_on_the_hub_is_kept() -> None:
    assert sign_model("owner/roberta-large") == "owner/roberta-large"
