"""What every phase of kbert's training reads: relations by split, entities, and the pack in other writers' words."""

from dataclasses import dataclass
from pathlib import Path

from models.graph.memory import GraphMemory
from models.packs.pack import Item, Pack
from models.training.kbert.questions import QuestionMaker
from models.training.kbert.world import World, build_world
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan
from models.training.texts.phrasings import CHOOSE_HANDS, TEST_HANDS, reword
from models.training.texts.relations import Relations, split_relations


@dataclass(frozen=True)
class Texts:
    """Packs and what they make; the data files behind them are those of the fingerprint."""

    files: DataFiles
    pack: Pack  # held phrasings by the writers on whom choices are made
    test_pack: Pack  # held phrasings by the writers who are tested on
    relations: Relations
    world: World
    maker: QuestionMaker

    @staticmethod
    def read(plan: Plan, folder: Path) -> "Texts":
        """Read the pack in a folder, split its relations, and hold some of its entities out."""
        with DataFiles(folder) as files:
            plain = Pack.load(folder)
            pack, test_pack = reword(plain, CHOOSE_HANDS), reword(plain, TEST_HANDS)
            relations = split_relations(pack, plan.seed, plan.n_tuning)
        every = {**relations.train, **relations.held_out}
        of_pack = {id: relation for id, relation in every.items() if not relation.is_practice}
        graph = GraphMemory.of(folder)
        maker = QuestionMaker(pack, graph.view(graph.base), of_pack)
        world = build_world(pack, relations, plan.entities, plan.seed)
        return Texts(files, pack, test_pack, relations, world, maker)

    def split_items(self) -> tuple[list[Item], list[Item]]:
        """Return facts of trained relations: for tuning (of trained entities only), and for measuring."""
        tuning, test = (
            [item for item in pack.items() if item.relation.id in self.relations.train]
            for pack in (self.pack, self.test_pack)
        )
        return [item for item in tuning[0::2] if item.subject.id not in self.world.held_out], test[1::2]
