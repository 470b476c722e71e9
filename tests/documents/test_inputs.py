"""Files of every format, many after faults that people reported: read right, doubted or refused."""

import os
from pathlib import Path

import yaml

from lib.documents.folder import read_folder

INPUTS = Path(__file__).parent / "inputs"
EXPECTED = yaml.safe_load(INPUTS.with_suffix(".yaml").read_text("utf-8"))


def test_every_input_is_read_right_or_refused_by_name():
    begin = sum(os.times()[:4])
    reading = read_folder(INPUTS)
    found = {one.document_id: one.reason for one in reading.rejected}
    for one in reading.documents:
        read = vars(one) | {"doubted": [one.text[start:end] for start, end in one.doubted]}
        names = "title language text doubt doubted".split()
        found[one.document_id] = {name: read[name] for name in names if read[name]}
    assert found == EXPECTED
    assert sum(os.times()[:4]) - begin < 10  # also of the converter
