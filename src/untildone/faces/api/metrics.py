"""The metrics of a server, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from untildone.faces.api.middleware.exchange import BUCKETS, RequestStats
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row

Labels = tuple[tuple[str, str], ...]
_PREFIX = "untildone_"


def text(service: Service, streams: int, stats: RequestStats) -> str:
    """All metrics, in the text format of Prometheus."""
    rows = service.table.rows()
    lines = (*_of_loops(rows), *_of_driving(service, streams), *_of_requests(stats))
    return "".join(f"{line}\n" for line in lines)


def _of_loops(rows: Iterable[Row]) -> Iterator[str]:
    """Metrics of the stored loops: their spend, and their number by status."""
    status, outcomes, needs = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    rounds, dollars, tokens = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    seconds, gates = Counter[Labels](), Counter[Labels]()
    for row in rows:
        by = (("agent", row.agent), ("mode", row.mode))
        status[(("status", row.status.value if row.status else "damaged"),)] += 1
        outcomes[(("outcome", row.outcome.word if row.outcome else "none"),)] += 1
        if row.need is not None:
            needs[(("kind", row.need.kind.value),)] += 1
        rounds[by] += row.spend.iterations
        tokens[by] += row.spend.tokens
        for sums, amount in ((dollars, row.spend.cost_usd), (seconds, row.spend.seconds), (gates, row.gate_seconds)):
            sums[by] += amount  # type: ignore[assignment]
    yield from gauge("loops", "Loops that are kept, by status.", status)
    yield from gauge(
        "loops_by_outcome", "Loops that are kept, by how they rest or ended; none: they have not yet.", outcomes
    )
    yield from gauge("loops_in_need", "Loops that wait for a person, by what they need.", needs)
    yield from gauge("rounds", "Rounds of all loops that are kept.", rounds)
    yield from gauge(
        "spend_dollars", "Dollars that all loops that are kept have cost, as far as agents report them.", dollars
    )
    yield from gauge(
        "spend_tokens", "Tokens that all loops that are kept have used, as far as agents report them.", tokens
    )
    yield from gauge("work_seconds", "Seconds that agents and gates of all loops that are kept have worked.", seconds)
    yield from gauge("gate_seconds", "Seconds that gates of all loops that are kept have run.", gates)


def _of_driving(service: Service, streams: int) -> Iterator[str]:
    load = service.load()
    figures = {
        "slots": ("Loops that this server drives at the same time, at most; 0: a cluster drives them.", load.slots),
        "loops_driven": ("Running loops that a runner drives now.", load.driving),
        "loops_queued": ("Running loops that wait for a slot or a machine.", load.queued),
        "loops_waiting": ("Running loops that wait until a time: at a usage limit, or after a failure.", load.waiting),
        "event_streams": ("Open streams of events.", streams),
    }
    for name, (what, value) in figures.items():
        yield from gauge(name, what, {(): value})
    yield from gauge("info", "The version of this server.", {(("version", version("untildone")),): 1})


def _of_requests(stats: RequestStats) -> Iterator[str]:
    answers: dict[Labels, float] = {(("code", str(code)),): count for code, count in stats.answers.items()}
    yield from _metric("http_responses_total", "counter", "Responses, by status.", answers)
    refused: dict[Labels, float] = {(("reason", code),): count for code, count in stats.refused.items()}
    what = "Requests that were refused before any route: no valid token, a foreign host or site, too many tries."
    yield from _metric("http_refused_total", "counter", what, refused)
    yield from _latencies(stats)


def _latencies(stats: RequestStats) -> Iterator[str]:
    name = f"{_PREFIX}http_request_seconds"
    yield f"# HELP {name} Seconds until a response began, by method and route."
    yield f"# TYPE {name} histogram"
    for (method, route), total in sorted(stats.seconds.copy().items()):
        labels, count = (("method", method), ("route", route)), 0
        for bound in (*BUCKETS, float("inf")):
            count += stats.latencies[method, route, bound]
            yield f"{name}_bucket{_braced((*labels, ('le', '+Inf' if bound == float('inf') else f'{bound:g}')))} {count}"
        yield f"{name}_sum{_braced(labels)} {total:.6f}"
        yield f"{name}_count{_braced(labels)} {count}"


def gauge(name: str, what: str, values: Mapping[Labels, float]) -> Iterator[str]:
    """The lines of a gauge."""
    return _metric(name, "gauge", what, values)


def _metric(name: str, kind: str, what: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield f"# HELP {_PREFIX}{name} {what}"
    yield f"# TYPE {_PREFIX}{name} {kind}"
    for labels, value in sorted(values.items()):
        yield f"{_PREFIX}{name}{_braced(labels)} {value if isinstance(value, int) else f'{value:.6f}'}"


def _braced(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
