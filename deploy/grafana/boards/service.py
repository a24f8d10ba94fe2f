"""Whether callers get answers: rate, errors and duration of every model and of every route."""

from __future__ import annotations

from deploy.grafana.board import Board, Row
from deploy.grafana.panel import RED, SCOPE, YELLOW, Limit, Line, Panel

MODELS = 'model=~"$model"'
FAILED = 'outcome=~"internal|not_ready|version_ahead|ledger_unavailable|ledger_corrupt"'
TIME = "errata_answer_seconds"
EVERY = "[$__rate_interval]"


def _quantile(q: float, labels: str, by: str) -> str:
    buckets = f"rate({TIME}_bucket{{{labels}}}{EVERY})"
    return f"histogram_quantile({q}, sum by ({by}, le) ({buckets}))"


GLANCE = Row(
    "At a glance",
    (
        Panel(
            "Alerts that fire",
            "Each has a section in deploy/prometheus/ALERTS.md.",
            "short",
            (Line('count(ALERTS{alertstate="firing",alertname=~"Errata.*"}) or vector(0)', ""),),
            "number",
            (Limit(1, RED),),
        ),
        Panel(
            "Answers a second",
            "Of all models, declined ones included.",
            "reqps",
            (Line(f"sum(rate(errata_answers_total{{{MODELS}}}{EVERY}))", ""),),
            "number",
        ),
        Panel(
            "Questions that fail",
            "Share of questions that were neither answered, declined nor turned away, by no fault of the caller.",
            "percentunit",
            (
                Line(
                    f"sum(rate(errata_answers_total{{{MODELS},{FAILED}}}{EVERY}))"
                    f" / sum(rate(errata_answers_total{{{MODELS}}}{EVERY}))",
                    "",
                ),
            ),
            "number",
            (Limit(0.001, YELLOW), Limit(0.01, RED)),
        ),
        Panel(
            "Slowest hundredth",
            "99 of 100 answers are quicker, within the service.",
            "s",
            (
                Line(
                    f'histogram_quantile(0.99, sum by (le) (rate({TIME}_bucket{{{MODELS},part="total"}}{EVERY})))',
                    "",
                ),
            ),
            "number",
            (Limit(0.5, YELLOW), Limit(1, RED)),
        ),
        Panel(
            "Replicas that live",
            "Of those that should.",
            "percentunit",
            (
                Line(
                    f'sum(max by (model) (errata_replicas{{{MODELS},state="live"}}))'
                    f' / sum(max by (model) (errata_replicas{{{MODELS},state="expected"}}))',
                    "",
                ),
            ),
            "number",
        ),
        Panel(
            "What runs",
            "Release, and Python.",
            "short",
            (Line("max by (version, python) (errata_build_info)", "{{version}} on {{python}}"),),
            "number",
        ),
    ),
)

ANSWERS = Row(
    "Answers, by model",
    (
        Panel(
            "Answers",
            "By outcome: answered, declined, or the code of a problem.",
            "reqps",
            (
                Line(
                    f"sum by (model, outcome) (rate(errata_answers_total{{{MODELS}}}{EVERY}))",
                    "{{model}} {{outcome}}",
                ),
            ),
            "area",
        ),
        Panel(
            "Questions that fail, by model",
            "Share of the questions that were neither answered, declined nor turned away, by no fault of the caller.",
            "percentunit",
            (
                Line(
                    f"sum by (model) (rate(errata_answers_total{{{MODELS},{FAILED}}}{EVERY}))"
                    f" / sum by (model) (rate(errata_answers_total{{{MODELS}}}{EVERY}))",
                    "{{model}}",
                ),
            ),
            limits=(Limit(0.01, RED),),
        ),
        Panel(
            "Time of an answer",
            "Within the service, from its arrival at a replica.",
            "s",
            (
                Line(_quantile(0.5, f'{MODELS},part="total"', "model"), "{{model}} p50"),
                Line(_quantile(0.99, f'{MODELS},part="total"', "model"), "{{model}} p99"),
            ),
            limits=(Limit(1, RED),),
        ),
        Panel(
            "Where the time goes",
            "Mean of each part: waiting for the batch before, finding facts in the graph, and the model.",
            "s",
            (
                Line(
                    f'sum by (model, part) (rate({TIME}_sum{{{MODELS},part!="total"}}{EVERY}))'
                    f' / sum by (model, part) (rate({TIME}_count{{{MODELS},part!="total"}}{EVERY}))',
                    "{{model}} {{part}}",
                ),
            ),
            "area",
        ),
        Panel(
            "Questions in a batch",
            "Mean. It grows with the load by itself.",
            "short",
            (
                Line(
                    f"sum by (model) (rate(errata_batch_size_sum{{{MODELS}}}{EVERY}))"
                    f" / sum by (model) (rate(errata_batch_size_count{{{MODELS}}}{EVERY}))",
                    "{{model}}",
                ),
            ),
        ),
        Panel(
            "Questions that wait",
            "At the ingress and behind the batch at a replica.",
            "short",
            (
                Line(
                    f"sum by (model, place) (errata_queue_questions{{{MODELS}}})",
                    "{{model}} at the {{place}}",
                ),
            ),
        ),
        Panel(
            "Turned away with 429",
            "A second: questions for which no queue had room, and calls over a limit of their key or address.",
            "reqps",
            (
                Line(
                    f'sum by (model) (rate(errata_answers_total{{{MODELS},outcome="too_many"}}{EVERY}))',
                    "{{model}}: full queue",
                ),
                Line(
                    f"sum by (by, limit) (rate(errata_rate_limited_total{EVERY}))",
                    "{{limit}} of a caller, by {{by}}",
                ),
            ),
        ),
    ),
)

HTTP = Row(
    "HTTP, by route",
    (
        Panel(
            "Requests",
            "A second.",
            "reqps",
            (Line(f"sum by (route) (rate(errata_http_requests_total{EVERY}))", "{{route}}"),),
            "area",
        ),
        Panel(
            "Statuses",
            "A second. 499: the caller hung up.",
            "reqps",
            (Line(f"sum by (status) (rate(errata_http_requests_total{EVERY}))", "{{status}}"),),
            "area",
        ),
        Panel(
            "Requests that fail",
            "Share of the requests to a route that got a status of 500 or above.",
            "percentunit",
            (Line("route:errata_http_errors:ratio5m", "{{route}}"),),
            limits=(Limit(0.01, RED),),
        ),
        Panel(
            "Time of a request, p99",
            "At the ingress, with the wait for a replica or the editor.",
            "s",
            (
                Line(
                    f"histogram_quantile(0.99, sum by (route, le) (rate(errata_http_request_seconds_bucket{EVERY})))",
                    "{{route}}",
                ),
            ),
        ),
        Panel(
            "Requests under way",
            "At all ingresses; one of them is Prometheus.",
            "short",
            (Line("sum by (instance) (errata_http_in_flight)", "{{instance}}"),),
        ),
    ),
)

PROCESSES = Row(
    "Processes",
    (
        Panel(
            "Processes that run",
            "On all machines, those included that are not ready yet.",
            "none",
            (Line("sum by (part) (errata_processes)", "{{part}}"),),
        ),
        Panel(
            "Processes that died",
            "That were killed or fell, on the machines that are there. One more replica, or one less, is no death.",
            "none",
            (Line("sum by (part) (instance_part:errata_process_deaths:total)", "{{part}}"),),
        ),
        Panel(
            "Age of the youngest process",
            "It falls to nothing where one was started again.",
            "s",
            (Line("time() - max by (part) (errata_process_start_time_seconds)", "{{part}}"),),
        ),
    ),
)

SERVICE = Board(
    "service",
    "Service",
    "Whether callers get answers, and how soon.",
    (GLANCE, ANSWERS, HTTP, PROCESSES),
    f"label_values(errata_answers_total{{{SCOPE}}}, model)",
)
