"""A column that grows: versions that add rows share those of the one before."""

import torch
from torch import Tensor

MIN_CAPACITY = 64


class Column:
    """A tensor that grows; its rows keep their places. Capacity without rows takes no memory."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._storage, self._count = torch.empty(MIN_CAPACITY, dtype=dtype), 0

    @property
    def values(self) -> Tensor:
        """The rows, as a view."""
        return self._storage[: self._count]

    def append(self, further: Tensor) -> None:
        """Append rows."""
        count = self._count + len(further)
        if count > len(self._storage):
            storage = torch.empty(2 * count, dtype=self._storage.dtype)
            storage[: self._count] = self.values
            self._storage = storage
        self._storage[self._count : count] = further
        self._count = count

    def copy(self, count: int | None = None) -> "Column":
        """Return a column with the first rows, by default all, which shares nothing with this one."""
        column = Column(self._storage.dtype)
        column.append(self.values[:count])
        return column
