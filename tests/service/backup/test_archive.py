"""The file of a backup, read by several threads."""

import io
from threading import Event, Thread

from service.backup.archive import Archive


class SlowFile(io.BytesIO):
    """A file whose first reader stops between its two steps until another has read, or is kept out."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.is_between, self.other_is_done = Event(), Event()

    def seek(self, offset: int, whence: int = 0) -> int:
        place = super().seek(offset, whence)
        if not self.is_between.is_set():
            self.is_between.set()
            self.other_is_done.wait(0.2)
        return place


def test_two_threads_read_each_its_own_member() -> None:
    file = SlowFile(b"first" + b"other")
    archive = Archive(file, (("a", 0, 5), ("b", 5, 5)))
    members: dict[str, bytes] = {}
    first = Thread(target=lambda: members.update(archive.members("a")))
    first.start()
    file.is_between.wait()
    other = Thread(target=lambda: (members.update(archive.members("b")), file.other_is_done.set()))
    other.start()
    first.join()
    other.join()
    assert members == {"a": b"first", "b": b"other"}
