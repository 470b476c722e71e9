"""Studies of StrucText-Eval: their notebooks, arms and files."""

from lib.tasks.kind import Kind, Stage
from lib.tasks.structext.records import BLIND

_TEXTS, _ANALYSIS = "00_structext", "06_structext"
KINDS = {"structext": Kind(
    (_TEXTS, "03_train", "04_infer", "05_judge", _ANALYSIS), task="structext",
    own={_TEXTS: Stage(), _ANALYSIS: Stage(every_seed=True)}, graph="structext/graph.smk",
    arms=("base", "tuned"), trains="tuned",
    reserved={BLIND: f"is the floor that {_ANALYSIS} computes"}, report=(_ANALYSIS, "structext"))}
