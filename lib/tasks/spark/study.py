"""Studies of SParK-Eval: the laboratory's records, or the user's documents."""

from lib.documents.folder import SUFFIXES
from lib.tasks.kind import Kind

CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
AUGMENT = "02_augment"  # part of a study only if an arm learns augmented texts
_FULL_CHAIN = (*CHAIN[:2], AUGMENT, *CHAIN[2:])
# Additional notebooks for a study of documents. All run unless the key `variants` names some.
EVIDENCE = ("retention", "pairs", "statistics", "ledger", "agreement", "paper")

KINDS = {
    "lab": Kind(("00_lab", *_FULL_CHAIN), EVIDENCE),
    "documents": Kind(("00_documents", *_FULL_CHAIN), EVIDENCE,
                      folder="DOCUMENTS", endings=SUFFIXES),
    "controlled": Kind(("controlled_run", "controlled"), graph="laboratory/controlled.smk",
                       fixed=("rotation", "runs", "structures", "seed"),
                       report=("controlled", "contrasts")),
    "replicates": Kind(("00_lab", *CHAIN[:-1], "replicates"), graph="laboratory/replicates.smk",
                       step=10,  # a laboratory also uses its seed + 1
                       fixed=("replicates", "seed", "split_seed"),
                       report=("replicates", "summary")),
    "reader": Kind(("00_reader", "01_read", "02_forms"), fixed=("seed",),
                   graph="reader/graph.smk", report=("02_forms", "forms")),
}
