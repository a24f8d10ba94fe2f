"""The fields of a change of rows: a vector, a sum of other rows, or a fact that the row shall hold."""

from typing import Annotated, Any

from pydantic import Field, FiniteFloat, model_validator

from models.memory import Fields

Name = Annotated[str, Field(min_length=1, max_length=300)]
MAX_SOURCES = 1_000  # entities of a mean
WAYS = ("vector", "copy_of", "towards", "mean_of", "fact", "clear")


class FactFields(Fields):
    """A fact that the row of its subject shall say.

    Attributes:
        relation: Name of the relation in the graph.
        object: Id of the object, or `=` and the text of a value.
    """

    relation: Name
    object: Name


class RowsFields(Fields):
    """The new row of one entity, in one of the ways.

    Attributes:
        entity: Id of the entity; the table may lack it.
        vector: The row itself.
        copy_of: Entity whose row is copied.
        towards: Entity towards whose row this one moves.
        share: How far, from 0 to 1.
        mean_of: Entities whose mean it is, such as the neighbours of a new entity.
        fact: A fact that it shall say, while it says the entity's other facts as before.
        clear: Whether it becomes zeros, as if the entity were not linked.
    """

    entity: Name
    vector: tuple[FiniteFloat, ...] | None = Field(None, max_length=10_000)
    copy_of: Name | None = None
    towards: Name | None = None
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    mean_of: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_SOURCES)] | None = None
    fact: FactFields | None = None
    clear: bool = False

    @model_validator(mode="after")
    def _check_ways(self) -> "RowsFields":
        ways = [way for way in WAYS if getattr(self, way) not in (None, False)]
        if len(ways) != 1:
            raise ValueError(f"say what the row is in one of the ways {', '.join(WAYS)}, not in {len(ways)}")
        return self

    def summarize(self) -> str:
        """Return the change in words."""
        if self.fact is not None:
            return f"{self.entity}: {self.fact.relation} is {self.fact.object}"
        if self.vector is not None:
            return f"{self.entity}: a vector of {len(self.vector)} numbers"
        if self.clear:
            return f"{self.entity}: zeros"
        if self.mean_of is not None:
            return f"{self.entity}: the mean of {', '.join(self.mean_of)}"
        return f"{self.entity}: {self.copy_of or f'{self.share:g} of the way to {self.towards}'}"

    def outline(self) -> dict[str, Any]:
        """Return the fields without the numbers of a vector."""
        outline = super().outline()
        if self.vector is not None:
            outline["vector"] = f"{len(self.vector)} numbers"
        return outline
