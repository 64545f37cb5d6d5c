"""docs/ops.md is what the registry says, and no TensorFlow.js kernel in scope is missing from it."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def named_kernels(text):
    """The second column of both tables."""
    cells = (line.split("|")[2] for line in text.splitlines() if re.match(r"\| [a-z]", line))
    return {name.strip() for cell in cells for name in cell.split(",")}


def main(print_ops):
    printed = subprocess.run([print_ops], check=True, text=True, stdout=subprocess.PIPE).stdout
    if (ROOT / "docs/ops.md").read_text() != printed:
        sys.exit("docs/ops.md is not what the registry says: run `make docs`")
    kernels = {line for line in (ROOT / "tests/tools/tfjs_kernels.txt").read_text().splitlines()
               if line and not line.startswith("#")}
    named = named_kernels(printed)
    if missing := sorted(kernels - named):
        sys.exit(f"TensorFlow.js kernels without an op: {', '.join(missing)}")
    if unknown := sorted(named - kernels - {"", "TensorFlow.js"}):
        sys.exit(f"not TensorFlow.js kernels: {', '.join(unknown)}")
    print(f"{len(kernels)} kernels, all there")


if __name__ == "__main__":
    main(sys.argv[1])
