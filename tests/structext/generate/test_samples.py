"""lib.structext.generate: every text has its structure and its answers, and a seed is a file."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY
from lib.structext.__main__ import main
from lib.structext.generate.census import n_repeated
from lib.structext.generate.naming import Letters, Words
from lib.structext.generate.samples import (
    PER_TASK,
    PLUG_INS,
    SUITES,
    Text,
    generate,
    samples_of,
    split,
    suite,
)
from lib.structext.generate.scenarios import MEN, SCENARIOS, SURNAMES, WOMEN
from lib.structext.generate.tree import ids, keys, layout, trail, values
from lib.structext.records import EXTRA_LANGUAGES, EXTRA_TASKS, LANGUAGES, MODES, TASKS, Sample

DIALS = {"depth": st.integers(1, 3), "width": st.integers(1, 2), "seed": st.integers(0, 10_000)}


def one(task: str, **dials) -> Sample:
    return next(generate(dials.pop("mode", "corrected"), [task], **dials))


def digest(samples) -> str:
    text = "".join(sample.model_dump_json() + "\n" for sample in samples)
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_tree_is_complete_and_in_pre_order():
    tree = layout(2, 1)  # two children, each with two
    assert tree.parent == [-1, 0, 1, 1, 0, 4, 4]
    assert tree.depth == [0, 1, 2, 2, 1, 2, 2]
    assert tree.rank == [0, 0, 0, 1, 1, 0, 1]
    assert tree.last == [6, 3, 2, 3, 6, 5, 6]
    assert tree.events == [0, 1, 2, ~2, 3, ~3, ~1, 4, 5, ~5, 6, ~6, ~4, ~0]
    assert trail(tree.parent, 6) == [0, 4, 6]
    assert layout(3, 3).n_nodes == 820  # the spec's count


def test_names_count_as_the_official_ones_do():
    assert ids(24, 4) == ["y", "z", "ab", "bb"]
    assert keys(24, 4) == ["B", "A", "ZY", "YY"]
    assert values(25, 3) == ["a", "zy", "yy"]
    assert len(set(ids(0, 20_000))) == 20_000


def test_there_are_29_tasks_and_a_plug_in_for_each_language():
    assert len(TASKS) == 29 and tuple(PLUG_INS) == LANGUAGES + EXTRA_LANGUAGES
    assert {task.split(".")[0] for task in EXTRA_TASKS} == set(EXTRA_LANGUAGES)
    for language, plug_in in PLUG_INS.items():
        n_tasks = sum(task.startswith(f"{language}.") for task in TASKS | EXTRA_TASKS)
        assert len(plug_in.finders) == n_tasks
    assert [sample.task for sample in generate()] == list(TASKS)


@pytest.mark.parametrize(("names", "count"), [
    (["test"], 3712), (["real-test"], 928), (["test-hard"], 2088),
    (["v1-simple", "v1-hard"], 6032)])
def test_a_suite_has_the_papers_count(names, count):
    assert 29 * sum(per_task for name in names for _, _, per_task in SUITES[name]) == count


def test_a_suite_has_every_task_in_every_cell_as_often():
    samples = suite("real-test")
    assert len(samples) == len({sample.id for sample in samples}) == 928
    cells = Counter(sample.cell for sample in samples)
    assert set(cells.values()) == {16} and len(cells) == 29 * 2
    assert n_repeated(samples) == 0
    train, test = split(samples)
    # of 16, 2 in 11: places 0, 6, 11
    assert len(train) + len(test) == 928 and len(test) == 29 * 2 * 3
    assert not {sample.reference for sample in train if sample.task in ("json.0", "json.1")} & {
        sample.reference for sample in test}


def test_a_seed_is_the_same_bytes_in_any_process():
    command = [sys.executable, "-m", "lib.structext", "generate", "--depth", "2",
               "--mode", "faithful", "--seed", "7"]
    made = {subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE,
                           env=os.environ | {"PYTHONHASHSEED": hash_seed}).stdout
            for hash_seed in ("1", "2")}
    assert len(made) == 1
    assert hashlib.sha256(made.pop()).hexdigest() == digest(generate("faithful", depth=2, seed=7))


def test_another_seed_is_another_file():
    assert digest(generate(seed=1)) != digest(generate(seed=2))


@pytest.mark.parametrize("mode", MODES)
def test_the_id_of_a_sample_of_letters_says_how_to_make_its_text_again(mode):
    for size in (6, 4):
        for sample in generate(mode, PLUG_INS, 2, 2, per_task=2, seed=-7, size=size):
            text, index = Text.of_sample(sample), int(sample.task.split(".")[1])
            assert list(samples_of(text, [index], lambda seed, _: Letters(seed), "")) == [sample]
    assert Text.of_sample(one("json.3", is_real=True)) is None


def test_only_xml_of_june_has_tags_without_attributes_and_its_ids_say_so():
    bare = re.compile(r"<[A-Z]+>")
    for is_june in (False, True):
        samples = list(generate("faithful", ["xml.0", "json.0"], 2, per_task=20, is_june=is_june))
        assert any(bare.search(sample.reference) for sample in samples) == is_june
        assert all(("-june-" in sample.id) == (is_june and sample.language == "xml")
                   for sample in samples)
        for sample in samples:
            text = Text.of_sample(sample)
            assert list(samples_of(text, [0], lambda seed, _: Letters(seed), "")) == [sample]
    assert {"-june-" in one.id for one in suite("v1-hard", per_task=1) if one.task == "xml.1"} == {
        True}


@pytest.mark.parametrize("mode", MODES)
def test_bold_texts_are_all_different_and_corrected_org_images_are_no_links(mode):
    tasks = ["latex.0", "markdown.0", "org.0", "org.2"]
    for is_real in (False, True):
        for sample in generate(mode, tasks, 2, 3, size=2, is_real=is_real):
            marks = sample.answer.split("\n")
            assert len(set(marks)) == len(marks) >= 10
            if sample.task == "org.2":
                links = re.findall(r"\[\[(.*?)\]\]", sample.reference)
                assert {link.startswith("file:") for link in links} == {mode == "corrected"}


def test_bold_texts_count_in_words_as_the_official_ones_do():
    names = Letters(0).bold(30)
    assert names[24:28] == ["yarrow", "zipper", "anchor basket", "basket basket"]


def test_values_of_too_few_kinds_are_numbered_on_and_never_alike():
    names = Words(SCENARIOS[0], 3)
    many = names.values(5000, {"Bergen", "Bergen 2"})
    assert len(set(many)) == 5000 and not {"Bergen", "Bergen 2"} & set(many)
    assert {"Bergen 3", "Bergen 4"} <= set(many)


@pytest.mark.parametrize("mode", MODES)
def test_a_sample_is_the_same_whichever_others_are_asked_for(mode):
    among_all = {sample.id: sample for sample in generate(mode, PLUG_INS, 2, per_task=2)}
    for task in (*TASKS, *EXTRA_TASKS):
        for sample in generate(mode, [task], 2, per_task=2):
            assert sample == among_all[sample.id]


@given(**DIALS, is_real=st.booleans())
def test_a_corrected_excerpt_is_in_its_text_verbatim(depth, width, seed, is_real):
    tasks = ["json.0", "json.4", "yaml.0", "yaml.4", "xml.0", "latex.1", "markdown.1", "org.1"]
    for sample in generate("corrected", tasks, depth, width, seed=seed, is_real=is_real):
        for excerpt in sample.answer.split("\n\n"):
            assert excerpt in sample.reference and excerpt == excerpt.strip()


@given(**DIALS, is_real=st.booleans())
def test_objects_read_back_and_paths_lead_to_their_values(depth, width, seed, is_real):
    readers = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
    for sample in generate("corrected", ["json.3", "yaml.3", "toml.3"], depth, width, seed=seed,
                           is_real=is_real):
        root = readers[sample.language](sample.reference)
        wanted = re.search('"(.*?)"', sample.question)[1]
        value = root
        for step in re.findall(r'\["(\w+)"\]|\[(\d+)\]', sample.answer):
            value = value[step[0] or int(step[1])]
        assert value == wanted
        found = Counter()
        todo = [root]
        while todo:
            node = todo.pop()
            todo += node.get("subs", [])
            found.update(text for text in node.values() if isinstance(text, str))
            assert all(isinstance(key, str) for key in node)
        assert max(found.values()) == 1  # ids and values: no question has two answers


@pytest.mark.parametrize("task", ["json.2", "yaml.2", "xml.2", "toml.2"])
def test_corrected_syntax_labels_are_half_true_and_true_of_what_they_label(task):
    samples = list(generate("corrected", [task], 2, per_task=8))
    assert Counter(sample.answer for sample in samples) == {"True": 4, "False": 4}
    faithful = Counter(sample.answer for sample in generate("faithful", [task], 2, per_task=40))
    assert faithful["True"] >= 39  # official: 129 of 132


def test_corrected_joins_have_every_answer_and_faithful_ones_mostly_none():
    corrected = Counter(one.answer for one in generate("corrected", ["csv.3"], 3, per_task=200))
    faithful = Counter(one.answer for one in generate("faithful", ["csv.3"], 1, per_task=200))
    assert {"0", "1", "2"} <= set(corrected) and corrected["0"] < 120 and faithful["0"] > 160


@given(seed=st.integers(0, 10_000), depth=st.integers(1, 2))
def test_a_real_sample_is_a_test_sample_with_other_names(seed, depth):
    """Nesting, order, counts and relations are kept, so answers that are not names are too."""
    tasks = ["csv.1", "csv.2", "csv.3", "tree.0", "tree.1", "json.2", "json.3", "xml.2", "latex.1",
             "toml.3", "log.2"]
    both = (generate("corrected", tasks, depth, seed=seed, is_real=is_real)
            for is_real in (False, True))
    for letters, words in zip(*both, strict=True):
        assert words.reference != letters.reference
        assert words.reference.count("\n") == letters.reference.count("\n")
        if letters.task in ("json.3", "toml.3"):
            assert re.findall(r"\[\d+\]", words.answer) == re.findall(r"\[\d+\]", letters.answer)
        elif letters.task == "latex.1":
            assert words.question == letters.question
        else:
            assert words.answer == letters.answer


def test_scenarios_are_many_and_their_names_fit_every_notation():
    assert len(SCENARIOS) >= 30 and len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    for scenario in SCENARIOS:
        names = Words(scenario, 5)
        things, fields = names.ids(30), names.keys(150)
        held = names.values(150, things)
        for unique in (things, fields, [*held, *things], names.images(40), names.tags(30),
                       names.primary_keys(30)):
            assert len(set(unique)) == len(unique)
        text = "".join([*things, *fields, *held, *names.body(50)])
        assert not re.search(r"[\"'\[\]{}*<>&,\n|=\\]", text)
        assert len(scenario.fields) == 8
        assert sum(field.kind[0].isdigit() for field in scenario.fields) >= 4


@pytest.mark.parametrize("mode", MODES)
def test_the_people_of_every_scenario_have_names_of_their_gender(mode):
    """And, in corrected texts, are of age, and retired from 55 years on."""
    text = Text(mode, "markdown-table", 3, 2, 6, 42, 0)
    seen = Counter()
    for number, scenario in enumerate(SCENARIOS):
        (sample,) = samples_of(text._replace(number=number), [0],
                               lambda seed, _, scenario=scenario: Words(scenario, seed), "real-")
        bio, work = ([[cell.strip() for cell in line.strip("|").split("|")]
                      for line in table.split("\n")[2:]]
                     for table in sample.reference.split("\n\n"))
        for (_, gender, age, name, *_), (_, status, *_) in zip(bio, work, strict=True):
            first, surname = name.split()
            assert first in {"female": WOMEN, "male": MEN}[gender] and surname in SURNAMES
            seen[gender, status] += 1
            if mode == "corrected":
                assert 18 <= int(age) <= 70 and (status != "retired" or int(age) >= 55)
    assert not set(WOMEN) & set(MEN) and len(seen) == 6  # both genders in each status


def test_real_samples_take_turns_with_the_scenarios():
    samples = generate("corrected", ["tree.0"], per_task=64, is_real=True)
    first_nodes = {sample.reference.split("->")[0] for sample in samples}
    assert all(first_nodes & set(scenario.things) for scenario in SCENARIOS)


def test_letters_and_words_answer_to_the_same_calls():
    public = {name for name in dir(Letters) if not name.startswith("_")}
    assert public <= set(dir(Words(SCENARIOS[0], 1)))


def test_faithful_texts_have_the_official_faults():
    latex = one("latex.1", mode="faithful", depth=3)
    commands = {line.split("{")[0] for line in latex.reference.split("\n") if line[:2] == "\\s"}
    assert commands == {"\\section", "\\subsection"}  # of three levels
    text = one("yaml.3", mode="faithful").reference
    assert re.search(r"^Z: \w+,$", text, re.M) and "subs: \n" in text
    with_bold = [sample for sample in generate("faithful", ["markdown.0"], 2, per_task=10)]
    assert any(sample.answer.split("\n") != re.findall(r"\*\*(.*?)\*\*", sample.reference)
               for sample in with_bold)
    assert any(re.search(r"\w\*\*\w", sample.reference) for sample in with_bold)  # within a word
    excerpt = next(sample for sample in generate("faithful", ["yaml.0"], 2, per_task=10)
                   if not sample.reference.startswith(sample.answer))
    assert excerpt.answer.startswith("id: ") and excerpt.answer not in excerpt.reference


def test_corrected_documents_have_each_word_once_between_spaces():
    for sample in generate("corrected", ["latex.0", "markdown.0", "org.0"], 2, per_task=6):
        marked = re.compile(r"\\textbf\{[\w -]+\}|\\includegraphics\S+|\*\*[\w -]+\*\*|\*[\w -]+\*|"
                            r"\[\[file:[\w.-]+\]\]|!\[alt\]\([\w.-]+ \"hover text\"\)")
        for paragraph in sample.reference.split("\n")[1::2]:
            plain = marked.sub("", paragraph)
            assert len(plain.split()) == 12  # 6 × depth
            assert all(re.fullmatch(r"[\w-]+", word) for word in plain.split())


def test_corrected_latex_headings_go_down_one_command_per_level():
    reference = one("latex.1", depth=3).reference
    assert [re.match(r"\\(\w+)", line)[1] for line in reference.split("\n")[2:8:2]] == [
        "section", "subsection", "subsubsection"]


@pytest.mark.parametrize(("arguments", "complaint"), [
    ({"depth": 0}, "depth 0"), ({"width": 0}, "width 0"), ({"per_task": -1}, "per_task -1"),
    ({"mode": "loose"}, "loose"), ({"tasks": ["json.5"]}, "json.5"),
    ({"tasks": []}, "none were given"), ({"depth": 9, "width": 9}, "smaller dials"),
    ({"depth": 10**9, "width": 10**9}, "more than 2,000,000 nodes"),
    ({"tasks": ["latex"], "depth": 6, "width": 1}, "latex has headings for 5"),
])
def test_a_wrong_setting_is_an_error_before_the_first_sample(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        generate(**arguments)


def test_an_unknown_suite_is_an_error():
    with pytest.raises(ValueError, match="test-hard"):
        suite("hard")


def test_the_command_line_writes_samples_and_says_what_is_wrong(tmp_path, capsys):
    target = tmp_path / "samples.jsonl"
    wanted = ["--tasks", "json.3", "log", "--per-task", "2", "--depth", "2"]
    assert main(["generate", *wanted, "--output", str(target)]) == 0
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [row["task"] for row in rows] == ["json.3", "log.0", "log.1", "log.2", "log.3"] * 2
    assert set(rows[0]) == {"id", "language", "task", "depth", "width", "question", "reference",
                            "answer", "hint"}
    assert main(["generate", "--depth", "0"]) == 1
    assert "must be at least 1" in capsys.readouterr().err
    assert main(["generate", "--suite", "test", "--depth", "2", "--real"]) == 1
    assert "leave out --depth, --real" in capsys.readouterr().err
    assert main(["generate"]) == 0
    assert capsys.readouterr().out.count("\n") == 29


@pytest.mark.parametrize(("of_what", "count"), [
    (["--tasks", "tree.1", "--per-task", "0"], PER_TASK),
    (["--suite", "real-test", "--per-task", "1"], 2 * 29),
    (["--suite", "real-test", "--per-task", "0"], 928)])
def test_no_number_per_task_means_the_same_as_in_a_study(of_what, count, tmp_path):
    """A study's `per_task: 0` asks all of a suite, and PER_TASK where no suite says how many."""
    target = tmp_path / "samples.jsonl"
    assert main(["generate", *of_what, "--output", str(target)]) == 0
    assert len(target.read_text(encoding="utf-8").splitlines()) == count


def test_a_negative_number_per_task_is_an_error(capsys):
    for of_what in ([], ["--suite", "test"]):
        assert main(["generate", *of_what, "--per-task", "-1"]) == 1
        assert "per_task -1" in capsys.readouterr().err
