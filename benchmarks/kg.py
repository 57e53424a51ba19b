"""Requests and time for the one-hop sub-graphs of 500 people, from a SPARQL server on loopback.

The peer asks as published scripts do: one request for the statements of an entity, then one for the
label of every value and one for the label of every relation of each statement.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

N_PEOPLE = 500


def one_by_one(url: str, people: list[str]) -> int:
    """Number of requests that a script sends which asks one thing at a time."""
    sent = 0

    def ask(query: str) -> list[dict[str, dict[str, str]]]:
        nonlocal sent
        sent += 1
        form, accept = urlencode({"query": query}), {"Accept": "application/sparql-results+json"}
        with urlopen(Request(f"{url}?{form}", None, accept)) as reply:
            return json.load(reply)["results"]["bindings"]

    label = "SELECT ?l WHERE {{ <{}> <http://www.w3.org/2000/01/rdf-schema#label> ?l }}"
    for qid in people:
        entity = f"http://www.wikidata.org/entity/{qid}"
        for row in ask(f"SELECT ?p ?v WHERE {{ <{entity}> ?p ?v }}"):
            if "/prop/direct/" in row["p"]["value"]:
                prop = row["p"]["value"].replace("/prop/direct/", "/entity/")
                ask(label.format(prop))
            if row["v"]["type"] == "uri":
                ask(label.format(row["v"]["value"]))
    return sent


def main() -> None:
    """Print both figures and their ratio."""
    from citeforge.kg.domain import load_domain
    from citeforge.kg.endpoint import EndpointEngine
    from citeforge.kg.graph import KnowledgeGraph
    from servers.sparql import sparql_server

    folder = os.environ.get("CITEFORGE_REAL_DATA")
    if not folder:
        print("set CITEFORGE_REAL_DATA")
        return
    data = Path(folder).resolve() / "biokalma" / "people.nt.gz"
    with tempfile.TemporaryDirectory() as work, sparql_server(data, Path(work)) as url:
        engine = EndpointEngine(url)
        kg = KnowledgeGraph(engine, load_domain("people"))
        people = [q for ids in kg.labels_of_class().values() for q in ids][:N_PEOPLE]
        engine.requests = 0
        start = time.perf_counter()
        graphs = kg.subgraphs(people)
        ours, seconds = engine.requests, time.perf_counter() - start
        triples = sum(len(g.triples) for g in graphs.values())
        print(
            f"citeforge: {ours} requests, {seconds:.2f} s, {len(graphs)} people, {triples} triples"
        )
        start = time.perf_counter()
        theirs = one_by_one(url, people)
        other = time.perf_counter() - start
        print(f"one by one: {theirs} requests, {other:.2f} s")
        print(f"ratio: 1/{theirs / ours:.0f} of the requests, 1/{other / seconds:.0f} of the time")


if __name__ == "__main__":
    main()
