"""A T5 from a folder is served and edited like the default system: a hundred edits hold, and are taken back."""

from pathlib import Path

from errata.wire import EditRequest, RevertRequest

from service.editing.operations import Edit, Undo
from service.loading import read_options
from service.replicas.replica import Replica
from tests.models.nkb.small_t5 import corrections, write_small_t5
from tests.service.editing.conftest import StartEditor
from tests.service.parts import ask, body_of, settings, start_deployment

N_EDITS = 100


async def test_a_t5_with_random_weights_is_edited(
    start_editor: StartEditor, tmp_path: Path, valkey: object
) -> None:
    folder = write_small_t5(tmp_path / "t5 & more")
    systems = {"own": f"models.nkb.hub:load?path={str(folder).replace('&', '%26')}&name=own"}
    options = settings(valkey.url, tmp_path, systems=systems)  # type: ignore[attr-defined]
    pairs = corrections(N_EDITS)
    edits = [{"question": question, "answer": answer} for question, answer in pairs]
    async with start_editor(systems=systems) as editor, start_deployment(Replica, options, "own") as replica:
        before = [await ask(replica, question) for question, _ in pairs[:5]]
        receipt = body_of(await editor.call(Edit(EditRequest.model_validate({"edits": edits}), "tester")))
        assert receipt["status"] == 201, receipt
        questions = [{"question": question} for question, _ in pairs]
        replies = [body_of(outcome) for outcome in await replica.answer_many(questions)]
        right = [reply["answer"] == answer for reply, (_, answer) in zip(replies, pairs, strict=True)]
        assert sum(right) >= 0.99 * N_EDITS
        assert receipt["report"]["test_status"]["holding"] >= 0.99 * N_EDITS
        undone = body_of(
            await editor.call(Undo(RevertRequest.model_validate({"version": receipt["version"]}), "tester"))
        )
        assert undone["status"] == 201
        after = [await ask(replica, question) for question, _ in pairs[:5]]
        assert [reply["answer"] for reply in after] == [reply["answer"] for reply in before]


def test_options_of_a_loader_may_hold_any_character() -> None:
    assert read_options("path=/a%26b=c&revision=00ff") == {"path": "/a&b=c", "revision": "00ff"}
    assert read_options("") == {}
