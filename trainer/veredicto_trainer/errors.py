"""Everything that can stop a run, as one tree.

    TrainerError
    ├── ConfigFault        the configuration file is wrong
    ├── TasksFault         the pack, a pin or the questions do not fit the run
    ├── PolicyFault        the weights or the tokenizer cannot be used
    ├── TooFewRewards      the service could not score too large a share of a step
    ├── DivergenceFault    gradients stay without finite values
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


class CheckpointFault(TrainerError):
    """A checkpoint cannot be written, or one on disk is not usable."""


class ReportFault(TrainerError):
    """A run's folder does not hold what its report needs."""
