"""`python -m models.training`: train, inject, calibrate and measure the default checkpoint, and write it down."""

from pathlib import Path

from models.nkb.reader import DEFAULT as CHECKPOINT
from models.training import plan as plans
from models.training.kit.command import describe_command, read_command
from models.training.run import train_all

WORK = Path("var/train")


def main() -> None:
    parser = describe_command("nkb", WORK, CHECKPOINT, plans.DEFAULT.threads)
    arguments, say = read_command(parser)
    train_all(plans.DEFAULT, arguments.pack, arguments.work, arguments.out, say)


if __name__ == "__main__":
    main()
