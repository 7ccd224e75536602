"""Everything that can stop a run, as one tree.

    TrainerError
    ├── ConfigFault        the configuration file is wrong
    ├── TasksFault         the pack, a pin or the questions do not fit the run
    ├── PolicyFault        the weights or the tokenizer cannot be used
    ├── TooFewRewards      the service could not score too large a share of a step
    ├── DivergenceFault    gradients stay without finite values
    ├── StaleSample        a completion is older than its mode allows; nothing was learnt from it
    ├── EngineFault        the rollout engine cannot be reached, or refused what it was asked
    ├── SyncFault          the rollout engine does not hold the weights that it was given
    ├── LedgerFault        a group would change its state in a way that the ledger does not allow
    ├── Collapse           the alarm stopped a run that no longer learns
    ├── Stopped            the run was asked to stop while it waited
    ├── CheckpointFault    a checkpoint cannot be written, or one on disk is not usable
    └── ReportFault        a run's folder does not hold what its report needs

A service that cannot be reached is a `veredicto_proto.client_errors.ClientError`.
"""

from __future__ import annotations


class TrainerError(Exception):
    """Root of the tree. The message says what happened and what to do."""


class ConfigFault(TrainerError):
    """The configuration file is wrong; the message names the field."""


class TasksFault(TrainerError):
    """The pack, a pin or the questions do not fit the run."""


class PolicyFault(TrainerError):
    """The weights or the tokenizer cannot be used."""


class TooFewRewards(TrainerError):
    """The service could not score too large a share of a step's completions."""


class DivergenceFault(TrainerError):
    """Gradients stay without finite values; the weights are those before them."""


class StaleSample(TrainerError):
    """A completion is older than its mode allows; nothing was learnt from it."""


class EngineFault(TrainerError):
    """The rollout engine cannot be reached, or refused what it was asked."""


class SyncFault(TrainerError):
    """The rollout engine does not hold the weights that it was given; nothing was sampled from it."""


class LedgerFault(TrainerError):
    """A group would change its state in a way that the ledger does not allow."""


class Collapse(TrainerError):
    """The alarm stopped a run that no longer learns."""


class Stopped(TrainerError):
    """The run was asked to stop while it waited; what it was doing is dropped and done again on resuming."""


class CheckpointFault(TrainerError):
    """A checkpoint cannot be written, or one on disk is not usable."""


class ReportFault(TrainerError):
    """A run's folder does not hold what its report needs."""
