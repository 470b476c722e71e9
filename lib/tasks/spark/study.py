"""Studies of SParK-Eval: the laboratory's records, or the user's documents."""

from lib.documents.folder import SUFFIXES
from lib.tasks.kind import Kind

CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
# Additional notebooks for a study of documents. All run unless the key `variants` names some.
EVIDENCE = ("retention", "pairs", "statistics", "ledger", "agreement", "paper")

KINDS = {
    "lab": Kind(("00_lab", *CHAIN), EVIDENCE),
    "documents": Kind(("00_documents", *CHAIN), EVIDENCE,
                      folder="DOCUMENTS", endings=SUFFIXES),
    "controlled": Kind(("00_facts", "01_pretrain", "02_run", "03_analyze"), ("04_augment",),
                       graph="controlled/graph.smk",
                       fixed=("rotation", "runs", "structures", "base"),
                       report=("03_analyze", "contrasts")),
    "replicates": Kind(("00_lab", *CHAIN[:-1], "00_replicates"), graph="replicates/graph.smk",
                       step=10,  # a laboratory also uses its seed + 1
                       fixed=("replicates", "seed", "split_seed"),
                       report=("00_replicates", "summary")),
    "reader": Kind(("00_reader", "01_read", "02_forms"), fixed=("seed",),
                   graph="reader/graph.smk", report=("02_forms", "forms")),
}
