"""Studies of TableQuest: their notebooks, arms and files."""

from lib.tasks.kind import Kind, Stage
from lib.tasks.tablequest.filings.files import ENDINGS
from lib.tasks.tablequest.records import ANALYSIS, FILINGS

_FILINGS, _ANALYSIS = (name.rpartition("/")[2] for name in (FILINGS, ANALYSIS))
KINDS = {"tablequest": Kind(
    (_FILINGS, "01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze",
     _ANALYSIS), task="tablequest", graph="tablequest/graph.smk",
    own={_FILINGS: Stage(), _ANALYSIS: Stage(every_seed=True)},
    folder="FILINGS", endings=ENDINGS, report=(_ANALYSIS, "tablequest"))}
