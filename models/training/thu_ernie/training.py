"""The training of THU-ERNIE: the rows of the pack's entities, its steps, its scales and its exam."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.encoder.weights import find
from models.graph.memory import GRAPH, GraphMemory
from models.kit.text import WordPieces
from models.packs.pack import Pack
from models.reading.checkpoint import load as load_reader
from models.thu_ernie.checkpoint import TABLE, load, save
from models.thu_ernie.entities.memory import ENTITIES
from models.thu_ernie.entities.table import write_table
from models.thu_ernie.reader import SCALES, Settings
from models.thu_ernie.system import ThuErnieSystem, entity_memory
from models.training.kit.card import fill_card
from models.training.kit.exam import examine, measure_edits
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan, read_plan
from models.training.kit.progress import load_or_compute
from models.training.kit.run import Run
from models.training.thu_ernie.exam import NO_SCALE, Drawer, calibrate
from models.training.thu_ernie.learning import Learning
from models.training.thu_ernie.questions import QuestionMaker
from models.training.thu_ernie.translation import Triples, train_rows
from models.training.thu_ernie.wordings import Wordings
from models.training.thu_ernie.world import World

FOLDER = Path(__file__).parent
PLAN = read_plan(FOLDER)
ROWS = "rows.safetensors"


@dataclass(frozen=True)
class Setup:
    """The inputs of a training: facts with their rows, ways to ask by writer, questions, and MiniLM's word pieces."""

    fingerprint: str
    world: World
    wordings: Wordings
    questions: QuestionMaker
    vocabulary: WordPieces


def prepare(plan: Plan, folder: Path, work: Path) -> Setup:
    """Train the rows of the pack in a folder, or read those of an earlier run in `work`."""
    with DataFiles(folder) as files:
        pack = Pack.load(folder)
        wordings = Wordings.of(pack)
    mark, triples = files.fingerprint(plan.to_json()), Triples.of(pack)
    recipe = (plan.translation, plan.config.entity_size, plan.seed)
    tensors = load_or_compute(work / ROWS, mark, "rows", lambda: {"rows": train_rows(triples, *recipe)})
    world = World(pack, triples, tensors["rows"], plan.settings.margin)
    vocabulary = WordPieces(find().tokenizer())
    return Setup(mark, world, wordings, QuestionMaker(world, wordings, plan.mixture), vocabulary)


def train(run: Run) -> bool:
    """Train rows and reader, fit the scales, and write the checkpoint; the same for a plan, a pack and a processor."""
    run.say("rows of entities")
    plan, setup = run.plan, prepare(run.plan, run.pack, run.work)
    learning = Learning(plan, setup.questions, setup.vocabulary, run.say)
    if not run.take(learning, setup.fingerprint):
        return False
    answers, settings = write_rows(setup, run.out / TABLE), plan.settings.make(Settings)
    save(learning.network, answers, settings, dict.fromkeys(SCALES, NO_SCALE), run.out)
    run.say("fitting the scales")
    scales = calibrate(plan, load(run.out), Drawer(setup.world.pack, setup.wordings, plan.seed))
    save(learning.network, answers, settings, scales, run.out)
    return True


def measure(run: Run) -> None:
    """Measure the checkpoint, and write its card beside it."""
    plan, model, graph = run.plan, load(run.out), GraphMemory.of(run.pack)
    system, entities = ThuErnieSystem(model, load_reader()), entity_memory(model)
    pack = Pack.load(run.pack)
    drawer = Drawer(pack, Wordings.of(pack), plan.seed)
    views: dict[str, Any] = {ENTITIES: entities.view(entities.base)}
    figures = examine(system, drawer.draw_groups(plan.n_exam), views, run.say)
    views[GRAPH] = graph.view(graph.base)
    for name, n, is_alone in (("alone", plan.n_edits, True), ("together", plan.n_joint_edits, False)):
        cases = drawer.draw_cases(n, name)
        figures[name] = measure_edits(system, graph, cases, views, alone=is_alone)
        run.say(f"{name}: {figures[name]}")
    size = sum(path.stat().st_size for path in run.out.rglob("*") if path.is_file())
    fill_card(run.out, FOLDER / "card.md", figures, minutes=run.minutes, megabytes=size / 1e6)


def write_rows(setup: Setup, folder: Path) -> dict[str, str]:
    """Write the table of a checkpoint, and return every answer with the name of its row."""
    world = setup.world
    names = world.triples.names
    rows = world.rows.numpy()
    write_table(folder, rows.shape[1], [rows], ((name, place) for place, name in enumerate(names)))
    return {label: names[place] for place, label in world.labels.items()}
