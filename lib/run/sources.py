"""Where a study's queries come from, and the notebooks, arms and folder that this brings (the house)."""

from dataclasses import dataclass

from lib.core.arms import ARMS

CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
# What a study of documents can do beside them; all of it, unless its key `variants` names some.
VARIANTS = ("00_retention", "01_pairs", "02_statistics", "03_ledger", "04_agreement", "05_paper", "06_advice")
PER_ARM = ("03_train", "04_infer", "05_judge", "00_retention", "01_pairs")


@dataclass(frozen=True)
class Source:
    """What a value of the key `source` means."""

    stages: tuple[str, ...]  # its notebooks, in order
    variants: tuple[str, ...] = ()
    arms: tuple[str, ...] = ARMS  # where a study names none
    trained: tuple[str, ...] = ARMS[1:]  # those that 03_train can make
    any_arm: bool = False  # whether further arms may be named, each with a model of its own
    folder: str = ""  # what one's own folder holds
    folder_needed: bool = False
    endings: tuple[str, ...] = ()  # of the files in it
    told: str = ""  # the file of figures/<study> that `make study` prints at its end; "": Table 2


SOURCES = {
    "lab": Source(("00_lab", *CHAIN), VARIANTS),
    "documents": Source(("00_documents", *CHAIN), VARIANTS, folder="DOCUMENTS", folder_needed=True,
                        endings=(".md", ".txt")),
    "structext": Source(("00_samples", "03_train", "04_infer", "05_judge", "01_analyze"),
                        arms=("base", "tuned"), trained=("tuned", "tuned-hint", "tuned-few-shot"), any_arm=True,
                        told="structext.md"),
    "tablequest": Source(("00_filings", "01_questions", "02_normalize", "03_train", "04_infer", "05_judge",
                          "06_analyze", "02_analyze"), any_arm=True, folder="FILINGS",
                         endings=(".html", ".htm", ".md"), told="tablequest.md"),
}
