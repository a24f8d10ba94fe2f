"""The inputs of every phase: the rows of the pack's entities, and a maker of questions."""

from dataclasses import asdict, dataclass
from pathlib import Path

from models.packs.pack import Pack
from models.thu_ernie.alignment import Vocabulary
from models.thu_ernie.answering.checkpoint import minilm_vocabulary
from models.thu_ernie.entities.files import write_table
from models.training.kit.fingerprint import DataFiles
from models.training.kit.progress import FinishedPhase
from models.training.thu_ernie.facts import World
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.questions import QuestionMaker
from models.training.thu_ernie.translation import Triples, train_rows
from models.training.thu_ernie.wordings import Wordings

ROWS = "rows.safetensors"


@dataclass(frozen=True)
class Setup:
    """The inputs of a training.

    Attributes:
        fingerprint: Fingerprint of the training.
        world: Facts and rows.
        wordings: Ways to ask, by writer.
        questions: Questions about entities.
        vocabulary: MiniLM's word pieces.
    """

    fingerprint: str
    world: World
    wordings: Wordings
    questions: QuestionMaker
    vocabulary: Vocabulary


def prepare(plan: Plan, folder: Path, work: Path) -> Setup:
    """Train the rows of a pack, or read those of an earlier run, and make the makers.

    Args:
        plan: The recipe.
        folder: Folder of the pack.
        work: Where rows are kept.
    """
    with DataFiles(folder) as files:
        pack = Pack.load(folder)
        wordings = Wordings.of(pack)
    mark, triples = files.fingerprint(asdict(plan)), Triples.of(pack)
    finished = FinishedPhase(work / ROWS, mark)
    tensors = finished.load()
    if tensors is None:
        tensors = {"rows": train_rows(triples, plan.translation, plan.config.entity_size, plan.seed)}
        work.mkdir(parents=True, exist_ok=True)
        finished.save(tensors)
    rows = tensors["rows"]
    world = World(pack, triples, rows, plan.settings.margin)
    return Setup(
        mark,
        world,
        wordings,
        QuestionMaker(world, wordings, plan.mixture),
        minilm_vocabulary(),
    )


def write_rows(setup: Setup, folder: Path) -> dict[str, str]:
    """Write the table of a checkpoint, and return every answer with the name of its row."""
    world = setup.world
    names = world.triples.names
    rows = world.rows.numpy()
    write_table(folder, rows.shape[1], [rows], ((name, place) for place, name in enumerate(names)))
    return {world.labels[place]: names[place] for place in world.answers.tolist()}
