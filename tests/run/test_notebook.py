"""What the notebook runner keeps of an executed notebook."""

import nbformat

from lib.llm.calls import Calls
from lib.run.notebook import calls_of


def test_the_tally_of_calls_and_its_dollars_are_kept(tmp_path):
    calls = Calls(tmp_path / "llm.sqlite")
    calls.tally.new, calls.tally.usd = 3, 0.25
    output = nbformat.v4.new_output("stream", text=f"rows: 3\n{calls}\nno model was called\n")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])
    assert calls_of(notebook) == [str(calls)] and "$0.25" in str(calls)
