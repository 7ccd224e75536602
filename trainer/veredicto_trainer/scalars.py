"""TensorBoard event files beside `metrics.jsonl`, for those who ask for them."""

from __future__ import annotations

from typing import Any

from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.errors import ConfigFault


class Scalars:
    """Writes each step's metrics as scalars, or nothing where `log.tensorboard` is off.

    Args:
        config: of the run.
        last_step: what later steps wrote is hidden: a resumed run writes it again.

    Raises:
        ConfigFault: the package `tensorboard` is not installed.
    """

    def __init__(self, config: TrainerConfig, *, last_step: int) -> None:
        self._writer: Any = None
        if config.log.tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ConfigFault(
                    f"log.tensorboard needs the package tensorboard ({error}); install it or turn this off"
                ) from error
            self._writer = SummaryWriter(config.output / "tensorboard", purge_step=last_step + 1)

    def write(self, step: int, row: dict[str, Any]) -> None:
        """Write one step."""
        if self._writer is not None:
            for name, value in row.items():
                if name != "step":
                    self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()
