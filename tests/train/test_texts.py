"""What an arm is trained on: replies to prompts as they will be asked; what no block holds is left out and counted."""

import pytest

from lib.core.files import write_records
from lib.core.paths import data_path
from lib.core.records import Query
from lib.infer.prompts import encoded
from lib.lab.base_model import train_tokenizer
from lib.train.packing import IGNORED
from lib.train.texts import END, texts_for

TOKENIZER = train_tokenizer(["What is the port? 8443 <answer>\n</answer>", "a b c d"] * 4, 300)


def query(number: int, context: str, answer: str) -> Query:
    return Query(query_id=f"q{number}", document_id=f"d{number // 2}", question="?", answer=answer, structure="natural",
                 source_reference="", start=0, end=0, entity_count=None, block_type="json", context=context)


@pytest.fixture
def study(tmp_path, monkeypatch) -> list[Query]:
    """Eight prompts on four texts, and one that is too long."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    queries = [query(number, f"Port {number}?\n<answer>\n", str(8000 + number)) for number in range(8)]
    write_records(data_path("s", "training", "tuned.jsonl"), [*queries, query(8, "long " * 99, "1")])
    return queries


def texts(**more):
    return texts_for("s", "tuned@2", TOKENIZER, **{"block_size": 64, "packing": "document", "validation_share": 0.25,
                                                   "split_seed": 1, **more})


def test_a_reply_is_learned_behind_its_prompt_as_it_will_be_asked(study):
    made = texts()
    assert "1 are longer than a block of 64" in made.told and "6 to train on, 2 to validate with" in made.told
    assert made.facts["left_out"] == 1 and len(made.facts["held_out"]) == 1
    learned = {TOKENIZER.decode([label for label in row if label != IGNORED]) for row in made.training.labels}
    kept = [one for one in study if one.document_id not in made.facts["held_out"]]
    spoken = "".join(sorted("".join(learned)))
    assert spoken == "".join(sorted("".join(f"{one.answer}{END}{TOKENIZER.eos_token}" for one in kept)))
    prompts = encoded(TOKENIZER, kept, is_ready=True)
    streams = [row for row in made.training.input_ids]
    assert all(any(prompt == row[start:start + len(prompt)] for row in streams for start in range(len(row)))
               for prompt in prompts)
    assert made.example.endswith(END) and made.raw is made.training


def test_without_room_for_any_pair_it_is_said(study):
    with pytest.raises(ValueError, match="no prompt with its answer fits a block of 4 tokens"):
        texts(block_size=4)
    assert texts(validation_share=0.0).validation is None
