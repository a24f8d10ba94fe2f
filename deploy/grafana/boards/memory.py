"""Whether every replica knows what was taught: versions, how they spread, whether edits stand, what room is left."""

from __future__ import annotations

from deploy.grafana.board import Board, Row
from deploy.grafana.panel import RED, YELLOW, Limit, Line, Panel

EVERY = "[$__rate_interval]"


def _quantile(q: float, metric: str, by: str) -> str:
    return f"histogram_quantile({q}, sum by ({by}, le) (rate({metric}_bucket{EVERY})))"


GLANCE = Row(
    "At a glance",
    (
        Panel("Version", "The ledger's newest.", "none", (Line("max(errata_ledger_version)", ""),), "number"),
        Panel(
            "Behind",
            "The replica that is furthest behind: the age of the oldest commit that it has not applied.",
            "s",
            (Line("max(errata_replica_behind_seconds)", ""),),
            "number",
            (Limit(60, YELLOW), Limit(300, RED)),
        ),
        Panel(
            "Replicas that disagree",
            "That hold other rows than most of their version.",
            "none",
            (Line("sum(max by (model) (errata_replicas_disagreeing))", ""),),
            "number",
            (Limit(1, RED),),
        ),
        Panel(
            "Edits that hold",
            "Their questions get the answers they were made for.",
            "none",
            (Line('max(errata_edits_standing{state="holding"})', ""),),
            "number",
        ),
        Panel(
            "Fact tests broken",
            "Edits whose questions get another answer.",
            "none",
            (Line('max(errata_edits_standing{state="broken"})', ""),),
            "number",
            (Limit(1, RED),),
        ),
        Panel(
            "Ledger",
            "1 while everybody can read it, and it is whole.",
            "none",
            (Line("min(errata_ledger_up)", ""),),
            "number",
        ),
    ),
)

VERSIONS = Row(
    "Versions",
    (
        Panel(
            "Version",
            "The ledger's, and those of the replicas that are furthest ahead and behind: one line, if all is well.",
            "none",
            (
                Line("max(errata_ledger_version)", "ledger"),
                Line("max by (model) (errata_replica_version_max)", "{{model}}, furthest ahead"),
                Line("min by (model) (errata_replica_version_min)", "{{model}}, furthest behind"),
            ),
        ),
        Panel(
            "Behind, and apart",
            "Versions between the ledger and the last replica, and between the first and the last.",
            "none",
            (
                Line("max by (model) (errata_replica_lag)", "{{model}} behind"),
                Line("model:errata_replica_version:skew", "{{model}} apart"),
            ),
            limits=(Limit(1, RED),),
        ),
        Panel(
            "Replicas",
            "By state: those there should be, those that send heartbeats, those that have the newest version.",
            "none",
            (Line("max by (model, state) (errata_replicas)", "{{model}} {{state}}"),),
        ),
        Panel(
            "From a commit to the answers",
            "Seconds from a commit until a replica answers from it.",
            "s",
            (
                Line(_quantile(0.5, "errata_propagation_seconds", "model"), "{{model}} p50"),
                Line(_quantile(0.99, "errata_propagation_seconds", "model"), "{{model}} p99"),
            ),
            limits=(Limit(1, RED),),
        ),
        Panel(
            "Where the time of a commit goes",
            "Mean of each part: making the rows, the report, the append, waiting for the replicas.",
            "s",
            (
                Line(
                    f"sum by (part) (rate(errata_commit_seconds_sum{EVERY}))"
                    f" / sum by (part) (rate(errata_commit_seconds_count{EVERY}))",
                    "{{part}}",
                ),
            ),
            "area",
        ),
        Panel(
            "The ledger's Redis",
            "Failed calls a second, and who can read the ledger (1) and who cannot (0).",
            "short",
            (
                Line(
                    f"sum by (role) (rate(errata_redis_failures_total{EVERY}))", "{{role}} failures a second"
                ),
                Line("min by (role) (errata_ledger_up)", "{{role}} reads"),
            ),
        ),
    ),
)

EDITS = Row(
    "Edits",
    (
        Panel(
            "Edits by outcome",
            "A minute: committed, tried only (dry_run), or the code of a refusal or failure.",
            "short",
            (
                Line(
                    f"60 * sum by (kind, outcome) (rate(errata_edits_total{EVERY}))",
                    "{{kind}} {{outcome}}",
                ),
            ),
            "area",
        ),
        Panel(
            "Commits by author",
            "A minute, by the name of the key.",
            "short",
            (Line(f"60 * sum by (author) (rate(errata_commits_total{EVERY}))", "{{author}}"),),
            "area",
        ),
        Panel(
            "How edits stand",
            "By their fact tests. Broken ones want a curator.",
            "none",
            (Line("max by (state) (errata_edits_standing)", "{{state}}"),),
            "area",
        ),
        Panel(
            "Room",
            "Share of the slots that are taken. At 1 further edits are refused.",
            "percentunit",
            (Line("memory:errata_memory_slots:used_ratio", "{{memory}}"),),
            limits=(Limit(0.8, YELLOW), Limit(0.95, RED)),
        ),
        Panel(
            "Slots",
            "Rows of all edits that are active.",
            "none",
            (Line("max by (memory, slots) (errata_memory_slots)", "{{memory}} {{slots}}"),),
        ),
        Panel(
            "Margin",
            "Points of locality that are left before so many edits get into each other's way.",
            "none",
            (Line("min by (memory) (errata_memory_margin)", "{{memory}}"),),
        ),
    ),
)

MEMORY = Board(
    "memory",
    "Memory",
    "Whether every replica knows what was taught, and whether it stands.",
    (GLANCE, VERSIONS, EDITS),
)
