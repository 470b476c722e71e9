"""Print this interpreter's path if it has what a study needs, else nothing.

make runs this in an active conda environment, to find out whether to use the environment as it is.
"""

import sys
from importlib.util import find_spec

NEEDED = ("papermill", "snakemake", "torch", "transformers", "pydantic", "statsmodels")

if __name__ == "__main__" and all(map(find_spec, NEEDED)):
    print(sys.executable)
