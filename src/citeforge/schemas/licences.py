"""Identifiers of licences that the Hugging Face Hub takes in a card.

Source: "Licenses" in the documentation of the Hub.
"""

from typing import Annotated

from pydantic import AfterValidator

from citeforge.schemas.errors import suggestion

HUB_LICENCES = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 apple-amlr apple-ascl artistic-2.0 bigcode-openrail-m
    bigscience-bloom-rail-1.0 bigscience-openrail-m bsd bsd-2-clause bsd-3-clause
    bsd-3-clause-clear bsl-1.0 c-uda cc cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0
    cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0
    cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 cdla-sharing-1.0 creativeml-openrail-m deepfloyd-if-license ecl-2.0
    epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 gemma gfdl gpl gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1
    lgpl-3.0 lgpl-lr llama2 llama3 llama3.1 llama3.2 llama3.3 lppl-1.3c mit mpl-2.0 ms-pl ncsa
    odbl odc-by ofl-1.1 openrail openrail++ osl-3.0 other pddl postgresql unknown unlicense wtfpl
    zlib
    """.split()
)


def check_licence(licence: str | None) -> str | None:
    """Return a licence if the Hub knows its identifier (upper or lower case), else raise an error.

    Raises:
        ValueError: no identifier of the Hub.
    """
    if licence is None or licence.lower() in HUB_LICENCES:
        return licence
    raise ValueError(
        f"{licence!r} is no licence identifier of the Hugging Face Hub"
        f"{suggestion(licence, HUB_LICENCES)}; give one such as cc-by-4.0, cc0-1.0, apache-2.0 or "
        "mit, or `other` for a licence that the Hub does not list"
    )


Licence = Annotated[str | None, AfterValidator(check_licence)]
"""Identifier of a licence, as the Hub writes it; None where none is stated."""
