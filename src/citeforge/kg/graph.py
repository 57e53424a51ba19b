"""Queries to a knowledge graph in Wikidata's RDF model, and :func:`open_graph`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citeforge.engines.progress import progress
from citeforge.engines.textfiles import yaml_line
from citeforge.kg.classes import write_class_condition, write_pair_condition
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.endpoint import EndpointEngine, ReplayEngine, TooLongError
from citeforge.kg.engines import SparqlEngine, StoreEngine, make_engine
from citeforge.kg.facts import COUNT, FactReader, id_sort_key
from citeforge.kg.plain import PlainModel
from citeforge.kg.translation import Translated
from citeforge.kg.values import FALLBACKS, Row, Term, iri, is_iri, languages_list, literal, query
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.kg import Graph
from citeforge.schemas.recipes.base import RunOptions

BATCH = 50


class KnowledgeGraph:
    """A knowledge graph that is queried in batches.

    Attributes:
        engine: answers SPARQL queries.
        domain: entity class and relations.
        languages: labels are taken in the first of these that has one, then in ``mul``.
        ids: IRIs of a plain graph to the ids of its entities.
        counts: things that were left out, by reason.
    """

    def __init__(
        self,
        engine: SparqlEngine,
        domain: Domain,
        languages: Sequence[str] = ("en",),
        batch: int = BATCH,
        translated: Translated | None = None,
    ) -> None:
        """Set engine, domain, languages, batch size, translation (plain RDF); query nothing yet."""
        self.engine, self.domain = engine, domain
        self.ids = {} if translated is None else translated.ids
        self.languages = tuple(languages)
        self.batch = batch
        self.counts = Counter[str]() if translated is None else translated.left_out
        self.reader = FactReader(
            domain, tuple(dict.fromkeys((*self.languages, *FALLBACKS))), self.counts
        )
        self._languages = languages_list(self.reader.languages)
        self._class = {
            "instance_of": domain.direct_iri + domain.instance_of,
            "class": domain.entity_iri + domain.entity_class,
        }

    def identity(self) -> dict[str, Any]:
        """Describe the knowledge graph for manifests: its engine and label languages."""
        return {**self.engine.identity(), "languages": list(self.languages)}

    def all_counts(self) -> Counter[str]:
        """Count values that were left out, and an endpoint's replies that have changed."""
        engine = self.engine
        return self.counts + (engine.counts if isinstance(engine, EndpointEngine) else Counter())

    def retrieval(self) -> dict[str, Any]:
        """Describe for manifests when an endpoint's replies came; empty for other graphs."""
        engine = self.engine
        span = engine.retrieved.span() if isinstance(engine, EndpointEngine) else {}
        return {"retrieved": span} if span else {}

    def subgraphs(self, qids: Iterable[str]) -> dict[str, Graph]:
        """Fetch the one-hop sub-graphs of entities by id; unknown entities are left out.

        Multi-valued relations keep every value. Values without a label in any of the languages,
        and external ids, addresses, media and coordinates, are left out and counted. An id that was
        merged into another one (owl:sameAs) has the graph of that one.

        Raises:
            InputError: an id is malformed, or an endpoint does not answer.
        """
        ids = list(dict.fromkeys(qids))
        graphs, unknown = self._fetch(ids)
        others = self._find_merged(unknown)
        more, none = self._fetch(sorted(set(others.values()) - set(graphs)))
        followed = {q: (graphs | more)[new] for q, new in others.items() if new in graphs | more}
        if followed:
            self.counts["merged_ids"] += len(followed)
        if lost := sum(others.get(q) in (None, *none) for q in unknown):
            self.counts["entities_without_statements"] += lost
        graphs |= followed
        return {q: graphs[q] for q in ids if q in graphs}

    def _fetch(self, ids: Sequence[str]) -> tuple[dict[str, Graph], list[str]]:
        """Fetch sub-graphs in batches: (id to sub-graph, ids of entities without statements)."""
        graphs: dict[str, Graph] = {}
        unknown: list[str] = []
        with progress("fetching sub-graphs", len(ids), "entities") as advance:
            for part, rows in self._batched(ids, self._query_subgraphs):
                graphs |= {graph.qid: graph for graph in self._make_graphs(part, rows, unknown)}
                advance(len(part))
        return graphs, unknown

    def _find_merged(self, ids: Sequence[str]) -> dict[str, str]:
        """Map the id of each merged entity to that of the (lowest) one it was merged into."""
        found: dict[str, str] = {}
        for row in self._query_rows("merged", ids, "into"):
            old, new = self._id(row["entity"]), self._id(row["into"])
            if self.reader.is_entity(row["into"]) and old != new:
                found[old] = min(found.get(old, new), new, key=id_sort_key)
        return found

    def _query_rows(
        self, query_name: str, ids: Sequence[str], value_variable: str
    ) -> Iterator[Row]:
        """Run the query ``queries/NAME.rq`` for batches of ids; yield rows with an id and a value.

        Args:
            query_name: name of the query, ``queries/NAME.rq``.
            ids: ids of entities or relations, such as ``Q42``.
            value_variable: variable of the query that has the value.
        """
        direct = self.domain.direct_iri

        def query_batch(batch: Sequence[str]) -> list[Row]:
            """Run the query for one batch of ids, and check the ids in the reply."""
            asked = [self.domain.entity_iri + q for q in batch]
            entities = self._entities(batch)
            text = query(query_name, entities=entities, languages=self._languages, direct=direct)
            return _require_asked_values(self.engine.select(text), "entity", asked, value_variable)

        for _, rows in self._batched(ids, query_batch):
            yield from rows

    def _query_subgraphs(self, ids: Sequence[str]) -> list[Row]:
        """Query the statements of some entities; raise an error if the reply was cut off."""
        entities = self._entities(ids)
        rows = self.engine.select(query("subgraphs", entities=entities, languages=self._languages))
        counted: dict[str, dict[str, int]] = {"count": {}, "labels": {}}
        received: Counter[tuple[str, str]] = Counter()
        self._require_ids(_require_bound(rows, "entity"), "entity", "prop")
        for row in rows:
            entity = self._id(row["entity"])
            if "count" in row or "labels" in row:
                kind = "count" if "count" in row else "labels"
                if not COUNT.fullmatch(row[kind].value):
                    raise TooLongError(f"the reply has {row[kind].value[:20]!r} for a number")
                counted[kind][entity] = int(row[kind].value)
            else:
                received[entity, "count" if "value" in row else "labels"] += 1
        for entity in ids:
            for kind, counts in counted.items():
                if (n := counts.get(entity)) != (got := received[entity, kind]):
                    counted_rows = "does not count them" if n is None else f"counts {n:,}"
                    raise TooLongError(f"the reply has {got:,} rows of {entity} and {counted_rows}")
        _require_bound([r for r in rows if "value" in r], "prop")
        return rows

    def _make_graphs(
        self, ids: Sequence[str], rows: list[Row], unknown: list[str]
    ) -> Iterator[Graph]:
        """Make sub-graphs of entities from a reply; append ids without statements to ``unknown``.

        Args:
            ids: ids of the entities.
            rows: reply of the query ``subgraphs`` for them.
            unknown: takes in the ids of entities without statements.
        """
        labels: dict[str, list[Row]] = {}
        facts: dict[str, dict[tuple[str, Term], list[Row]]] = {}
        for row in rows:
            entity = self._id(row["entity"])
            if "value" in row:
                fact = (row["prop"].value, row["value"])
                facts.setdefault(entity, {}).setdefault(fact, []).append(row)
            elif "label" in row:
                labels.setdefault(entity, []).append(row)
        for entity in ids:
            if entity not in facts:
                unknown.append(entity)
                continue
            name = self.reader.label(labels.get(entity, []), "label")
            if name is None:
                self.counts["entities_without_a_label_in_the_languages"] += 1
                continue
            triples = [
                triple
                for (_, value), same in facts[entity].items()
                for triple in self.reader.triples(entity, name, value, same)
            ]
            triples.sort(key=lambda t: (id_sort_key(t.pid), t.value, t.value_id))
            named = dict.fromkeys(t for t in triples if t.value)
            unnamed = dict.fromkeys(t for t in triples if not t.value)
            yield Graph(entity, name, tuple(named), tuple(unnamed))

    def find(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Map each name to the ids of entities of the domain's classes that have it."""
        condition = write_class_condition(self.domain, "entity")
        return self._ids_by_name("entities_by_name", names, "entity", {"class": condition})

    def properties(self, labels: Iterable[str]) -> dict[str, list[str]]:
        """Map each label or alias to the ids of the relations that have it, if any."""
        return self._ids_by_name("properties_by_label", labels, "prop", {}, requires_ids=True)

    def _ids_by_name(
        self,
        query_name: str,
        names: Iterable[str],
        id_variable: str,
        placeholders: Mapping[str, str],
        requires_ids: bool = False,
    ) -> dict[str, list[str]]:
        """Map each label or alias to the ids of the entities or relations that have it.

        Args:
            query_name: name of the query, ``queries/NAME.rq``.
            names: labels or aliases.
            id_variable: variable of the query that has the id.
            placeholders: further conditions of the query, by their name in the template.
            requires_ids: whether a row without an id raises an error; else it is left out.

        Returns:
            Name to sorted ids; empty lists for names that nothing has.
        """
        ids_of: dict[str, set[str]] = {n: set() for n in names}

        def query_batch(batch: Sequence[str]) -> list[Row]:
            """Query the ids that have one of a batch of names, in any of the languages."""
            values = " ".join(
                literal(n, lang or None) for n in batch for lang in self.reader.languages
            )
            rows = self.engine.select(query(query_name, names=values, **placeholders))
            rows = _require_asked_values(rows, "name", batch, id_variable)
            return self._require_ids(rows, id_variable) if requires_ids else rows

        for _, rows in self._batched(list(ids_of), query_batch):
            for row in rows:
                if row[id_variable].value.startswith(self.domain.entity_iri):
                    ids_of[row["name"].value].add(self._id(row[id_variable]))
        return {n: sorted(ids, key=id_sort_key) for n, ids in ids_of.items()}

    def statements(self, relation_ids: Iterable[str]) -> list[tuple[str, str, str]]:
        """List statements of relations between two entities: sorted (subject, relation, object).

        One of the two is of the domain's class, and the other one of this class or of another one
        that the domain has words for.
        """
        condition = write_pair_condition(self.domain)
        text = query("pairs", properties=self._entities(relation_ids), condition=condition)
        names = ("first", "prop", "second")
        rows = self._ask_once(text, *names, ids=names)
        triples = {(self._id(r["first"]), self._id(r["prop"]), self._id(r["second"])) for r in rows}
        return sorted(triples, key=lambda t: tuple(map(id_sort_key, t)))

    def count_values_by_class(self, relation_ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """Count the values of relations by class, in up to 1,000 statements in all.

        Returns:
            Relation id to label of the class to number of values; an empty label for no class.
        """
        iris = self._entities(relation_ids)
        text = query("ends", properties=iris, languages=self._languages, **self._class)
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self._ask_once(text, "prop", "entities", ids=("prop",)):
            name = self._id(row["class"]) if "class" in row else ""
            groups.setdefault((self._id(row["prop"]), name), []).append(row)
        ends: dict[str, dict[str, int]] = {}
        for (prop, name), rows in sorted(groups.items()):
            number = rows[0]["entities"].value
            if COUNT.fullmatch(number):
                ends.setdefault(prop, {})[self.reader.label(rows, "label") or name] = int(number)
        return ends

    def aliases(self, qids: Iterable[str]) -> dict[str, list[str]]:
        """Map entity ids to the aliases of each entity."""
        return self._query_names("aliases", qids)

    def inverses(self, pids: Iterable[str]) -> dict[str, list[str]]:
        """Map relation ids to the names of the relations that the graph declares inverse."""
        return self._query_names("inverses", pids)

    def _query_names(self, query_name: str, ids: Iterable[str]) -> dict[str, list[str]]:
        """Map ids to the names that a query finds for each, sorted.

        Args:
            query_name: name of the query, ``queries/NAME.rq``.
            ids: ids of entities or relations.
        """
        names_of: dict[str, set[str]] = {q: set() for q in ids}
        for row in self._query_rows(query_name, list(names_of), "alias"):
            names_of[self._id(row["entity"])].add(self.reader.clean(row["alias"].value))
        return {q: sorted(names - {""}) for q, names in names_of.items()}

    def labels_of_class(self) -> dict[str, list[str]]:
        """Map each label or alias of entities of the domain's classes to the entities' ids."""
        condition = write_class_condition(self.domain, "entity")
        text = query("labels_of_class", languages=self._languages, condition=condition)
        ids_of: dict[str, set[str]] = {}
        for row in self._ask_once(text, "entity", "label", ids=("entity",)):
            ids_of.setdefault(self.reader.clean(row["label"].value), set()).add(
                self._id(row["entity"])
            )
        return {n: sorted(ids, key=id_sort_key) for n, ids in sorted(ids_of.items())}

    def ask(self, name: str, variables: Sequence[str], **parts: str) -> list[Row]:
        """Run the SPARQL query ``queries/NAME.rq``; raise an error if a row lacks a variable.

        Args:
            name: name of the query.
            variables: variables that each row must have.
            parts: texts that fill in the query, by their name in it.

        Raises:
            InputError: an endpoint cannot answer.
        """
        text = query(name, languages=self._languages, **parts)
        return self._ask_once(text, *variables, drops_zeros=True)

    def _ask_once(
        self,
        query_text: str,
        *variables: str,
        ids: Sequence[str] = (),
        drops_zeros: bool = False,
    ) -> list[Row]:
        """Run a SPARQL query in one request; raise an error if a row lacks a variable or an id.

        Args:
            query_text: SPARQL.
            variables: variables that each row must have.
            ids: those that must be ids of the domain.
            drops_zeros: whether a single row of zeros stands for no rows, as in counts of nothing.
        """
        try:
            rows = self.engine.select(query_text)
            if (
                drops_zeros
                and len(rows) == 1
                and {term.value for term in rows[0].values()} == {"0"}
            ):
                return []  # an aggregate of nothing is a row of zeros
            return self._require_ids(_require_bound(rows, *variables), *ids)
        except TooLongError as error:
            raise self._error(
                f"cannot answer a query that cannot be split ({error})",
                "give the pairs in a file (--pairs), or a snapshot (--kg file:…)",
            ) from error

    def _batched(
        self, items: Sequence[str], ask: Callable[[Sequence[str]], list[Row]]
    ) -> Iterator[tuple[Sequence[str], list[Row]]]:
        """Query items in batches: yield (items, rows); halve batches that take too long.

        Args:
            items: ids or names to query.
            ask: queries a batch of them; raises TooLongError for one that takes too long.
        """
        waiting = [items[i : i + self.batch] for i in range(0, len(items), self.batch)]
        while waiting:
            part = waiting.pop(0)
            try:
                yield part, ask(part)
            except TooLongError as error:
                if len(part) == 1:
                    message = f"does not answer even for {part[0]} alone ({error})"
                    advice = "another endpoint, or a snapshot (--kg file:…)"
                    raise self._error(message, advice) from error
                self.counts["batches_split"] += 1
                waiting[:0] = [part[: len(part) // 2], part[len(part) // 2 :]]

    def _error(self, message: str, allowed: str) -> InputError:
        """Make the error for a SPARQL endpoint that cannot answer; ``allowed`` is the advice."""
        endpoint = self.engine.identity().get("endpoint")
        return InputError(message, path=endpoint, allowed=allowed, code="endpoint-failed")

    def _entities(self, ids: Iterable[str]) -> str:
        """Write the IRIs of ids for SPARQL, separated by spaces."""
        return " ".join(iri(self.domain.entity_iri + name) for name in ids)

    def _require_ids(self, rows: list[Row], *variables: str) -> list[Row]:
        """Return a reply's rows; raise an error if a variable is no id of the domain.

        Raises:
            TooLongError: a variable that is bound holds no id of the domain, as where a server cut
                the reply; a smaller query may pass.
        """
        for term in {row[name] for name in variables for row in rows if name in row}:
            name = term.value.removeprefix(self.domain.entity_iri)
            if term.type != "uri" or name in ("", term.value) or not is_iri(term.value):
                raise TooLongError(
                    f"the reply has {term.value[:80]!r}, which is not below "
                    f"{self.domain.entity_iri}, the domain's entity_iri"
                )
        return rows

    def _id(self, term: Term) -> str:
        """Get the id at the end of an entity's or relation's IRI."""
        return self.reader.id_of(term)


def open_graph(
    name: str | None,
    domain: str | Mapping[str, Any],
    languages: Sequence[str],
    run: RunOptions,
    skip_malformed: bool = False,
) -> KnowledgeGraph:
    """Open the knowledge graph that ``--kg`` names, with domain, languages and run options.

    Args:
        name: ``file:PATH``, ``sparql:URL`` or ``replay:FILE``.
        domain: built-in name, YAML file, or the content of one.
        languages: languages of labels, the best first.
        run: batch size and endpoint options.
        skip_malformed: leave out malformed statements of a file, and count them.

    Raises:
        UsageError: no graph is named, or ``skip_malformed`` without a file.
        InputError: a domain, graph or store cannot be read.
    """
    if name is None:
        raise UsageError("give --kg file:PATH, sparql:URL or replay:FILE", code="missing-option")
    record = load_domain(domain)
    engine = make_engine(name, run)
    loaded: Counter[str] = Counter()
    if isinstance(engine, StoreEngine):
        engine.skip_malformed = skip_malformed
        engine.load()
        if record.plain is None:
            engine.match_iris(record.entity_iri, record.direct_iri)
        loaded = engine.counts
    elif skip_malformed:
        raise UsageError("--skip-malformed is for --kg file:PATH", code="option-without-effect")
    translated = None
    if record.plain is not None:
        path = Path(domain) if isinstance(domain, str) else Path(f"{record.name}.yaml")
        translated = _translate_plain(engine, record.plain, path)
    batch = engine.choose_batch(run.kg_batch) if isinstance(engine, ReplayEngine) else run.kg_batch
    graph = KnowledgeGraph(engine, record, list(languages) or ["en"], batch, translated)
    graph.counts += loaded
    return graph


def _translate_plain(
    engine: SparqlEngine, mapping: PlainModel, domain_path: Path
) -> Translated | None:
    """Translate plain RDF into Wikidata's model by a mapping; None if it is in that model.

    Raises:
        UsageError: the graph is no file.
        InputError: the graph has no named entity of the classes.
    """
    if not isinstance(engine, StoreEngine):
        raise UsageError(
            "a domain with model: plain is for --kg file:PATH", code="conflicting-options"
        )
    translated = engine.translate(mapping)
    if translated is None or translated.named:
        return translated
    names, classes = ", ".join(mapping.labels), ", ".join(translated.classes[:5]) or "none"
    field, what, allowed = "labels", f"names under {names}", "predicates that hold names"
    if not translated.left_out["entities_without_a_label"]:
        what = f"entities of the classes {', '.join(mapping.classes)}"
        field, allowed = "classes", f"its classes: {classes}"
    raise InputError(
        f"{engine.path.name} has no {what}",
        path=domain_path,
        line=yaml_line(domain_path, ("plain", field)),
        field=f"plain.{field}",
        allowed=allowed,
        code="unknown-id",
    )


def _require_bound(rows: list[Row], *variables: str) -> list[Row]:
    """Return the rows of a SPARQL result; raise an error if one has no value for a variable."""
    for row in rows:
        for name in variables:
            if name not in row:
                raise TooLongError(f"the reply has a row without ?{name}")
    return rows


def _require_asked_values(
    rows: list[Row], variable: str, values: Iterable[str], second_variable: str
) -> list[Row]:
    """Return the rows of a SPARQL result; raise an error if a value is missing or not requested."""
    allowed = set(values)
    for row in _require_bound(rows, variable, second_variable):
        if row[variable].value not in allowed:
            raise TooLongError(f"the reply is about {row[variable].value[:80]!r}, not asked for")
    return rows
