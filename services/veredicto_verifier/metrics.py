"""Metrics of the service in Prometheus' text format; every name has its line in docs/metrics.md."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from veredicto_verifier.scheduler import Scheduler
from veredicto_verifier.verdict import Verdict

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """All counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "veredicto_requests", "Requests to POST /score by HTTP status.", ["status"], registry=self.registry
        )
        self.request_seconds = Histogram(
            "veredicto_request_seconds", "Time of POST /score.", buckets=_SECONDS, registry=self.registry
        )
        self.items = Counter(
            "veredicto_items", "Verdicts by verifier and outcome.", ["verifier", "outcome"], registry=self.registry
        )
        self.passed = Counter("veredicto_passed", "Verdicts that passed.", ["verifier"], registry=self.registry)
        self.cached = Counter(
            "veredicto_cached", "Verdicts answered from memory.", ["verifier"], registry=self.registry
        )
        self.flags = Counter("veredicto_flags", "Flags raised.", ["flag"], registry=self.registry)
        self.queue_seconds = Histogram(
            "veredicto_queue_seconds", "Wait for a worker.", ["verifier"], buckets=_SECONDS, registry=self.registry
        )
        self.exec_seconds = Histogram(
            "veredicto_exec_seconds", "Time in the worker.", ["verifier"], buckets=_SECONDS, registry=self.registry
        )
        self.pending = Gauge("veredicto_pending_items", "Items waiting or running.", registry=self.registry)
        self.worker_restarts = Gauge(
            "veredicto_worker_restarts", "Workers replaced since start.", ["lane", "why"], registry=self.registry
        )
        self.record_seconds = Histogram(
            "veredicto_record_seconds", "Time to make records durable.", buckets=_SECONDS, registry=self.registry
        )

    def count(self, verifier: str, verdict: Verdict) -> None:
        """Count one verdict."""
        self.items.labels(verifier, verdict.outcome).inc()
        if verdict.passed:
            self.passed.labels(verifier).inc()
        if verdict.cached:
            self.cached.labels(verifier).inc()
        for flag in verdict.flags:
            self.flags.labels(flag.name).inc()
        self.queue_seconds.labels(verifier).observe(verdict.queue_ms / 1e3)
        self.exec_seconds.labels(verifier).observe(verdict.exec_ms / 1e3)

    def render(self, scheduler: Scheduler) -> bytes:
        """The text of `GET /metrics`."""
        self.pending.set(scheduler.num_pending)
        for lane, pool in scheduler.lanes.items():
            for why, count in pool.counts.restarts.items():
                self.worker_restarts.labels(lane, why).set(count)
        return generate_latest(self.registry)
