"""Files after faults that people reported: each is read right, doubted or refused by name."""

import time
from pathlib import Path

from lib.documents.folder import read_folder

INPUTS = Path(__file__).parent / "inputs"
# file -> what its text has in this order, what it lacks, what its doubt says ("" for none)
READ = {
    "csv_quoted_newline.csv": (["| line one line two |", '| has "quotes" inside |'], [], ""),
    "csv_semicolon_commas.csv": (["| rot, klein, neu | 1.234,50 |"], [], ""),
    "docx_endnote.docx": (["12 kg.\n", "weighed wet"], [], ""),
    "docx_start.docx": (["5. Fifth", "   1. Inner", "6. Sixth", "7. Seventh"], [], ""),
    "docx_sublist_indent.docx": (
        ["2. Check the seals\n   1. Seal A is red\n   2. Seal B is blue\n3. Close the case"],
        [],
        "",
    ),
    "docx_tracked.docx": (["mass of 12 kg.", "valve was added", "moved there in"], ["10", "9"], ""),
    "epub_same_spine.epub": (["The pump P1 has a mass of 12 kg."], [], ""),
    "html_colspan.html": (["The pump P1 has a mass of 12 kg.", "| 1 | 2 |"], [], ""),
    "md_pipe_code.md": (["| `c|d` | pipe | 13 kg |"], [], ""),
    "pdf_fake_bold.pdf": (["Statement of the pump P1\n\nThe pump P1 has a mass of 12 kg."], [], ""),
    "pdf_kids_loop.pdf": (["The pump P1 has a mass of 12 kg."], [], ""),
    "sup_del_errors.html": (
        ["is 12[^1] s.", "is 3½ m².", "mass is 12 kg.", "| 10⁻³ |", "| 9 |", "| gain | 5 |"],
        ["121", "10 12", "7 9", "#REF!", "#N/A"],
        "2 × mark at a number and 2 × cell with an error",
    ),
    "xlsx_dimension_lie.xlsx": (["| P1 | 12 kg |"], [], ""),
    "xlsx_errors.xlsx": (["| P1 |  |", "| P3 | 12 |"], ["#REF!", "#N/A"], "2 × cell with an error"),
    "xlsx_formats.xlsx": (
        ["| 7.5% |", "| 15% |", "| $1,234.50 |", "| $(1,234.50) |", "| 1,235 |", "| 12.3M |"]
        + ["| 12.5 kg |", "| 1.50E-07 |", "| 2026-03-15 |", "| 2026-03-15 09:30 |", "| 09:30 |"]
        + ["| 27:15 |", "| (42) |", "| -42 |", "| 01234 |", "| TRUE |", "| 0.33 |", "| 3 |"]
        + ["| 0.13 |", "| 50% |", "| 007 |"],
        [],
        "1 × format # ?/? left out",
    ),
    "xlsx_formulas.xlsx": (
        ["| P2 | 13 |  |"],
        [],
        "1 × no value calculated in Data!C2 and 1 × no value calculated in Data!C3",
    ),
    "xlsx_merged.xlsx": (["| region | 2024 units | 2024 USD |", "| South | 9 | 10 |"], [], ""),
    "xlsx_title_spacer.xlsx": (
        ["\n\nPROGRESS\n\n| Task | Owner | Status |", "| Build | Bo | Open |"],
        [],
        "",
    ),
}
REFUSED = {
    "docx_gridspan.docx": "needs more than 2 GB of memory",
    "html_nested_tables.html": "nested more than 200 deep",
    "pdf_two_columns.pdf": "1 × table whose cells are unsure",
    "xlsx_far_cell.xlsx": "remove what is far out",
    "xlsx_merge_all.xlsx": "merges 17,179,836,416 cells: remove what is far out",
    "zip_liar.docx": "cannot be unpacked",
}


def test_every_input_is_read_right_or_refused_by_name():
    begin = time.process_time()
    reading = read_folder(INPUTS)
    found = {one.document_id: one for one in reading.documents}
    assert {*found} == {*READ}
    for name, (there, lacking, doubt) in READ.items():
        text, place = found[name].text, 0
        for part in there:
            assert part in text[place:], (name, part, text)
            place = text.index(part, place)
        assert not [part for part in lacking if part in text], (name, text)
        assert found[name].doubt == doubt, name
    refused = {one.document_id: one.reason for one in reading.rejected}
    assert {*refused} == {*REFUSED}
    assert not {name: why for name, why in REFUSED.items() if why not in refused[name]}
    assert time.process_time() - begin < 10
