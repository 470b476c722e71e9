"""Print this interpreter's path where it has what a study needs, and nothing where it has not.

make asks an active conda environment with it whether it can be used as it is.
"""

import sys
from importlib.util import find_spec

NEEDED = ("papermill", "snakemake", "torch", "transformers", "pydantic", "statsmodels")

if __name__ == "__main__" and all(map(find_spec, NEEDED)):
    print(sys.executable)
