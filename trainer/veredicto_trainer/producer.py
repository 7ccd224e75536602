"""How a batch comes to be: questions drawn, completions sampled and recorded, groups sent to be judged as they finish.

With dynamic sampling (DAPO, arXiv 2503.14476) groups without a signal are replaced by other questions, round after
round, up to a cap; a batch that is still short then is learnt from as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.engines.engine import Engine, Request, Sampling, sample_seed
from veredicto_trainer.errors import CheckpointFault, Stopped
from veredicto_trainer.group_ledger import GroupLedger
from veredicto_trainer.recordings import Recordings, Round
from veredicto_trainer.rewards import Pending, Rewarder
from veredicto_trainer.rollouts import Batch, Group, Question, Unscored
from veredicto_trainer.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Produced:
    """A batch whose last round may still be being judged."""

    step: int
    pending: tuple[Pending, ...]
    """Of the last round."""
    before: tuple[Group, ...]
    """Groups of earlier rounds, judged."""
    rounds: int
    generate_s: float
    sampled_at: int


class Producer:
    """Produces batches.

    Args:
        config: of the run.
        engine: samples; whoever calls `produce` has published the right weights to it.
        sampler: draws the questions.
        rewarder: judges.
        recordings: keeps what was sampled.
        ledger: keeps what became of it.
        decode: text of a completion's tokens.
        version: updates that the learning weights have seen now.
        should_stop: asked between two finished groups.
    """

    def __init__(
        self,
        config: TrainerConfig,
        engine: Engine,
        sampler: Sampler,
        rewarder: Rewarder,
        recordings: Recordings,
        ledger: GroupLedger,
        *,
        decode: Callable[[Sequence[int]], str],
        version: Callable[[], int],
        should_stop: Callable[[], bool],
    ) -> None:
        self._config = config
        self._engine = engine
        self._sampler = sampler
        self._rewarder = rewarder
        self._recordings = recordings
        self._ledger = ledger
        self._decode = decode
        self._version = version
        self._should_stop = should_stop

    def produce(self, step: int, *, sampled_after: int, only_recorded: bool = False) -> Produced:
        """Sample a step's completions, or take them from their recording, and send them to be judged.

        Args:
            step: whose batch.
            sampled_after: the step whose weights sample it, for the ledger.
            only_recorded: those weights are gone; what was not recorded cannot be made up for.

        Raises:
            CheckpointFault: the disk refused a recording, or `only_recorded` and there is none.
            TooFewRewards, ClientError: dynamic sampling could not judge a round.
            Stopped: the run was asked to stop.
        """
        wanted, cap = self._config.grpo.prompts_per_step, self._config.grpo.generation_rounds
        judged: list[Group] = []
        began, missing, number = time.perf_counter(), wanted, 0
        while True:
            pending = self._round(step, number, missing, sampled_after, only_recorded=only_recorded)
            number += 1
            if number == cap:
                break
            judged += self._rewarder.wait(pending, step=step, phase="train")
            pending, missing = [], wanted - sum(group.has_signal for group in judged)
            if missing == 0:
                break
        seconds = time.perf_counter() - began
        return Produced(step, tuple(pending), tuple(judged), number, seconds, self._version())

    def collect(self, produced: Produced) -> Batch:
        """The batch with all its verdicts; raises as `Rewarder.wait` does."""
        began = time.perf_counter()
        groups = [*produced.before, *self._rewarder.wait(produced.pending, step=produced.step, phase="train")]
        waited = time.perf_counter() - began
        groups.sort(key=lambda group: int(group.id))  # not as they were sent: a resumed run sends in another order
        for group in groups:
            self._ledger.scored(produced.step, group)
        kept = self._kept(groups)
        sent = min((each.sent for each in produced.pending), default=began)
        came = max((each.answer.result()[1] for each in produced.pending), default=began)
        return Batch(
            produced.step,
            tuple(group for group in groups if group.id in kept),
            tuple(group for group in groups if group.id not in kept),
            rounds=produced.rounds,
            generate_s=produced.generate_s,
            score_s=came - sent,
            wait_score_s=waited,
            sampled_at=produced.sampled_at,
        )

    def _kept(self, groups: Sequence[Group]) -> set[str]:
        """All groups; with dynamic sampling those with a signal, filled up with others where the cap was reached."""
        ranked = sorted(groups, key=lambda group: not group.has_signal)
        return {group.id for group in ranked[: self._config.grpo.prompts_per_step]}

    def _round(self, step: int, number: int, count: int, sampled_after: int, *, only_recorded: bool) -> list[Pending]:
        taken = self._recordings.read(step, number)
        if taken is None and only_recorded:
            raise CheckpointFault(
                f"step {step} was sampled by weights that are gone and its recording is missing; "
                "remove the newest checkpoint to continue from the one before"
            )
        if taken is None:
            return self._sampled(step, number, count, sampled_after)
        self._ledger.planned(step, {g.id: g.question for g in taken.groups}, sampled_after=sampled_after)
        bundles = self._bundles({group.id: group.question for group in taken.groups})
        sent = []
        for group in taken.groups:
            self._ledger.generated(step, group, at=taken.at)
            sent += [self._rewarder.submit(b, step=step, phase="train") for b in bundles.finished(group)]
        return sent

    def _sampled(self, step: int, number: int, count: int, sampled_after: int) -> list[Pending]:
        first = self._first(step, number)
        questions = self._sampler.draw(step=step, first=first, count=count)
        ids = [str(index) for index in range(self._taken(step, number), self._taken(step, number) + count)]
        planned = dict(zip(ids, questions, strict=True))
        self._ledger.planned(step, planned, sampled_after=sampled_after)
        bundles = self._bundles(planned)
        groups, sent = {}, []
        for group in self._stream(step, ids, questions):
            groups[group.id] = group
            self._ledger.generated(step, group, at=time.time())
            sent += [self._rewarder.submit(b, step=step, phase="train") for b in bundles.finished(group)]
            if self._should_stop():
                raise Stopped("the run was asked to stop while it sampled; the same command resumes")
        ordered = tuple(groups[each] for each in ids)
        self._recordings.write(Round(step, number, first + count, time.time(), ordered))
        return sent

    def _bundles(self, planned: Mapping[str, Question]) -> _Bundles:
        """Groups whose prompts are of like length travel together, since the embedded engine samples them together."""
        ids = sorted(planned, key=lambda each: len(planned[each].token_ids))
        return _Bundles(ids, self._config.service.groups_per_request)

    def _stream(self, step: int, ids: Sequence[str], questions: Sequence[Question]) -> Iterator[Unscored]:
        size = self._config.grpo.group_size
        requests = [
            Request(q.token_ids, tuple(sample_seed(self._config.seed, "train", step, g, i) for i in range(size)))
            for g, q in zip(ids, questions, strict=True)
        ]
        for index, completions in self._engine.stream(requests, Sampling(self._config.grpo.max_new_tokens)):
            texts = tuple(self._decode(completion.token_ids) for completion in completions)
            yield Unscored(ids[index], questions[index], completions, texts)

    def _first(self, step: int, number: int) -> int:
        """How many questions were drawn before a round; without dynamic sampling it follows from the step."""
        if self._config.grpo.generation_rounds == 1:
            return (step - 1) * self._config.grpo.prompts_per_step
        if number == 0:
            return self._recordings.cursor(step - 1)
        before = self._recordings.read(step, number - 1)
        assert before is not None  # rounds are taken in order
        return before.cursor

    def _taken(self, step: int, number: int) -> int:
        """How many groups the earlier rounds of a step have."""
        rounds = [self._recordings.read(step, earlier) for earlier in range(number)]
        return sum(len(each.groups) for each in rounds if each is not None)


class _Bundles:
    """Fixed slices of a round's groups: each is complete when the last of its groups is.

    Which groups travel together depends on their numbers, not on which ended first, so that a request that is made
    again has the same content and the same idempotency key.
    """

    def __init__(self, ids: Sequence[str], size: int) -> None:
        self._slices = [ids[start : start + size] for start in range(0, len(ids), size)]
        self._done: dict[str, Unscored] = {}

    def finished(self, group: Unscored) -> list[list[Unscored]]:
        """The slices that this group completes."""
        self._done[group.id] = group
        whole = [ids for ids in self._slices if group.id in ids and set(ids) <= set(self._done)]
        return [[self._done[each] for each in ids] for ids in whole]
