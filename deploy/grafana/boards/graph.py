"""What the knowledge graph holds, and what it costs a question to read it."""

from __future__ import annotations

from deploy.grafana.board import Board, Row
from deploy.grafana.panel import Line, Panel

EVERY = "[$__rate_interval]"


def _quantile(q: float, metric: str, by: str) -> str:
    return f"histogram_quantile({q}, sum by ({by}, le) (rate({metric}_bucket{EVERY})))"


HOLDS = Row(
    "What it holds",
    (
        Panel(
            "Statements",
            "By source: the pack, imported files, edits. One edit may replace what another source says.",
            "short",
            (Line("max by (source) (errata_graph_statements)", "{{source}}"),),
            "area",
        ),
        Panel(
            "Entities",
            "That a source says something of.",
            "short",
            (Line("max by (source) (errata_graph_entities)", "{{source}}"),),
        ),
        Panel(
            "Imports",
            "An hour, by outcome.",
            "short",
            (
                Line(
                    f'3600 * sum by (outcome) (rate(errata_edits_total{{kind="import"}}{EVERY}))',
                    "{{outcome}}",
                ),
            ),
            "area",
        ),
    ),
)

COSTS = Row(
    "What a question reads",
    (
        Panel(
            "Answers from the graph",
            "A second, of the models that read it. Declined: it says nothing about this.",
            "reqps",
            (
                Line(
                    f"sum by (model, outcome) (rate(errata_answers_total{EVERY}))"
                    " and on (model) errata_graph_facts_count",
                    "{{model}} {{outcome}}",
                ),
            ),
            "area",
        ),
        Panel(
            "Time of a batch in the graph",
            "By part: finding names in the questions, and reading what is said of them.",
            "s",
            (
                Line(_quantile(0.5, "errata_graph_seconds", "part"), "{{part}} p50"),
                Line(_quantile(0.99, "errata_graph_seconds", "part"), "{{part}} p99"),
            ),
        ),
        Panel(
            "Facts about the words of a question",
            "None for half of the questions means that their names are not in the graph.",
            "short",
            (
                Line(_quantile(0.5, "errata_graph_facts", "model"), "{{model}} p50"),
                Line(_quantile(0.9, "errata_graph_facts", "model"), "{{model}} p90"),
            ),
        ),
        Panel(
            "Questions without facts",
            "Share of those of which the graph knows no name, or nothing about it.",
            "percentunit",
            (
                Line(
                    f'sum by (model) (rate(errata_graph_facts_bucket{{le="0.0"}}{EVERY}))'
                    f" / sum by (model) (rate(errata_graph_facts_count{EVERY}))",
                    "{{model}}",
                ),
            ),
        ),
        Panel(
            "Rows of imports",
            "A second: at hand, or fetched from Redis.",
            "short",
            (Line(f"sum by (model, cache) (rate(errata_graph_rows_total{EVERY}))", "{{model}} {{cache}}"),),
            "area",
        ),
        Panel(
            "The ledger's Redis",
            "Failed calls a second. A question that needs a row from it fails with them.",
            "short",
            (Line(f"sum by (role) (rate(errata_redis_failures_total{EVERY}))", "{{role}}"),),
        ),
    ),
)

GRAPH = Board(
    "graph",
    "Graph",
    "What the knowledge graph holds, and what it costs a question to read it.",
    (HOLDS, COSTS),
)
