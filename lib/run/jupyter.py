"""`%study 03_train`, a line of each notebook below its parameters: the rest of a study's values.

In JupyterLab, one name is set in the parameters, that of the study. The line then reads the values
of the notebook's other parameters in studies/<study>.yaml, sets them and prints what it has set. A
value that is to differ is set in a cell below. Under papermill, which writes the parameters that it
is given into a cell of their own, the line only refuses those that the notebook does not have.
"""

import ast
import json
import os
from collections.abc import MutableMapping
from typing import Any

from lib.core.store import PROMPTS, WRITTEN, tell


def load_ipython_extension(shell: Any) -> None:
    """Register `%study`; `%load_ext lib.run.jupyter` calls this."""
    shell.register_magic_function(
        lambda stage: use_study(stage.strip(), shell.user_ns), magic_name="study"
    )


def use_study(stage: str, names: MutableMapping[str, Any]) -> None:
    """Set what studies/<study>.yaml says of notebook `stage`, whose `names` these are.

    Of several runs, it is that of `arm`, of the first of `arms` or of `seed`.
    """
    injected = [cell for cell in names["In"] if cell.startswith("# Parameters")]
    if injected and WRITTEN in os.environ:  # lib.run.notebook has checked them
        return
    from lib.run.config import load_study, studies  # which takes a second
    from lib.run.parameters import check, notebook_path

    is_study = names["study"] in studies()
    if is_study:
        study = load_study(names["study"], needs_folder=False)
        os.environ |= {"STUDY_LOOK": json.dumps(study.look), PROMPTS: study.prompts}
    if injected:  # papermill alone only warns
        lines = ast.parse(injected[0]).body
        given = {line.targets[0].id: ast.literal_eval(line.value) for line in lines}
        return check(notebook_path(stage), given)
    if not is_study:
        tell(f"no file studies/{names['study']}.yaml: the values are those above")
        return
    runs = study.arms_of(stage)
    named = [names.get("arm"), *names.get("arms", ()), str(names.get("seed"))]
    given = study.given(stage, next((one for one in named if one in runs), runs[0]))
    if not study.folder:  # of the user's own documents, which `make study` is told
        given.pop("folder", None)
    given = {name: value for name, value in given.items() if value != names[name]}
    names.update(given)
    tell(f"of studies/{study.name}.yaml:", ", ".join(f"{one} = {given[one]!r}" for one in given))
