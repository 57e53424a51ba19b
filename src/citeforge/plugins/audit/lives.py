"""Search for impossible ages and lifetimes in the graphs that a package shows."""

from citeforge.kg.domain import Domain
from citeforge.kg.lives import Lives
from citeforge.package.items import by_query
from citeforge.package.package import Package
from citeforge.schemas.audit import Flaw
from citeforge.schemas.kg import from_row, group_into_graphs

CHECK = "possible lives"
METHOD = "ages and lifetimes by dates of birth and death"


def find_impossible_lives(package: Package, domain: Domain) -> list[Flaw]:
    """Find people whose ages or lifetimes are impossible in a query's graphs: a flaw per query."""
    rows = by_query(package.context_table("full").to_pylist())
    graphs = {
        query: list(group_into_graphs([from_row(t) for row in mine for t in row["triples"]]))
        for query, mine in rows.items()
    }
    # Published files may show different triples of one entity: then each query stands alone.
    one_graph = {g.qid: g for mine in graphs.values() for g in mine}
    is_same = all(one_graph[g.qid] == g for mine in graphs.values() for g in mine)
    every = Lives(domain, one_graph.values()) if is_same else None
    flaws = []
    for query, mine in graphs.items():
        lives = every or Lives(domain, mine)
        found = {text: None for g in mine for _, text in lives.find_impossible(g)}
        if found:
            flaws.append(Flaw("impossible-life", query, "", "; ".join(found)))
    return flaws
