"""The peer over HTTP: the same checkpoint, plain transformers' generate, behind LitServe (Apache-2.0), batching on.

`python -m tests.bench.peer PORT`.
"""

import sys
from typing import Any

import litserve
import torch

from tests.bench.plain import PlainTransformers


class PlainApi(litserve.LitAPI):  # type: ignore[misc]
    """A LitServe API: one question in, one answer out; the library gathers the batch."""

    def setup(self, device: str) -> None:
        from models.nkb.reader import Reader

        torch.set_num_threads(2)
        self.plain = PlainTransformers(Reader.load(device=torch.device(device)))

    def decode_request(self, request: dict[str, Any]) -> str:
        question: str = request["question"]
        return question

    def predict(self, questions: list[str]) -> list[str]:
        return self.plain.answer(questions)

    def encode_response(self, answer: str) -> dict[str, str]:
        return {"answer": answer}


def main() -> None:
    api = PlainApi(max_batch_size=32, batch_timeout=0.002)
    # LitServe takes any `mcp` for the version 1 that it knows, and fails on ours; the peer has no tools anyway.
    litserve.server._MCP_AVAILABLE = False
    server = litserve.LitServer(
        api, accelerator="cuda" if torch.cuda.is_available() else "cpu", devices=1, workers_per_device=1
    )
    server.run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning")


if __name__ == "__main__":
    main()
