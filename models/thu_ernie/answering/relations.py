"""The relation that a text states of its entities: relation classification by the rows of relations.

Zhang et al. (arXiv:1905.07129), section 4.4, train a classifier over a list of relations. TransE has a row of each
already, and s + r is where the object of a fact lies. So the mask of a subject is aligned with s + r of each relation
that a request names; the training aligns masks with such rows where an object has no row.
"""

from collections.abc import Collection, Mapping, Sequence

from models.graph.statement import RELATION
from models.graph.view import GraphView
from models.thu_ernie.answering.candidates import Candidate, Choice, NoRow
from models.thu_ernie.answering.rows import FoundRow, RowFinder


def find_relations(
    texts: Sequence[str], graph: GraphView | None, answers: Collection[str]
) -> Mapping[str, str] | None:
    """Return the relation that each text names by its id, its label or its property in Wikidata; "" for none.

    Args:
        texts: Candidates of a request.
        graph: The graph at the asked version.
        answers: Known answers in lower case.

    Returns:
        None where the texts are answers: no text names a relation, or not all do and one is a known answer.
    """
    ids = _ids_by_name(graph) if texts and graph is not None else {}
    relations = {text: ids.get(text.casefold(), "") for text in texts}
    names_answer = any(text.casefold() in answers for text in texts)
    is_relations = all(relations.values()) or not names_answer
    return relations if any(relations.values()) and is_relations else None


def list_relations(relations: Mapping[str, str], subject: FoundRow, finder: RowFinder) -> Choice:
    """Return a candidate for each relation: the row to which it leads from a subject.

    Args:
        relations: Id of each relation that a request names; "" if there is none.
        subject: Row of the text's subject.
        finder: Rows at the asked version.
    """
    candidates, exclusions = [], []
    for text, relation in relations.items():
        step = finder.find(RELATION + relation)
        if step is None:
            exclusions.append(NoRow(text))
        else:
            row = FoundRow(subject.vector + step.vector, "neighbours", step.edit)
            candidates.append(Candidate(text, (row,)))
    return Choice(tuple(candidates), tuple(exclusions))


def _ids_by_name(graph: GraphView) -> dict[str, str]:
    """Return the relations of a version by each of their names in lower case."""
    names: dict[str, str] = {}
    for id in sorted(graph.relations):
        relation = graph.base.relations.get(id)
        for name in (id, graph.label(id), (relation.property if relation else None) or ""):
            if name:
                names.setdefault(name.casefold(), id)
    return names
