"""The GPU benchmark's own code at a tiny size; on a CPU it reports neither MFU nor peak memory."""

import pytest
import torch

from benchmarks import gpu

TINY = gpu.Setting({"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
                    "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 2000,
                    "max_position_embeddings": 256, "tie_word_embeddings": False},
                   block_size=64, document_tokens=24, accumulation=2, updates=3, questions=4)
LLAMA_8B = gpu.Setting()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_every_way_trains_and_both_engines_answer():
    text = gpu.main(TINY)
    for way in gpu.WAYS:
        (row,) = (line.split(" | ") for line in text.split("\n") if line.startswith(f"| {way} |"))
        assert row[1] == "3" and float(row[3].replace(",", "")) > 0
        assert row[4:6] == ["–", "–"] and float(row[6].split()[0]) >= 0
    assert "so no MFU" in text and "4 questions in batches" in text
    with pytest.raises(SystemExit, match="no GPU is visible here"):
        gpu.main()


def test_no_document_of_a_block_sees_another():
    found = gpu.leaks(TINY)
    assert found["apart"] == 0 < found["joined"]


def test_the_plan_says_how_many_layers_fit():
    without, with_ = (gpu.most_layers(LLAMA_8B, again, 80e9) for again in (False, True))
    assert 0 < without < with_ < 32
    assert gpu.most_layers(LLAMA_8B, True, 1e9) == 0


def test_flops_and_peaks():
    """Llama-3.1-8B on 8,192 tokens: torchtitan's 5,762 tokens/s are its 33% of an H100's peak."""
    flops = gpu.flops_per_token(LLAMA_8B.config(), 8_030_261_248, 8192)
    peak = gpu.peak_flops("NVIDIA H100 80GB HBM3")
    assert 5762 * flops / peak == pytest.approx(0.33, abs=0.01)
    assert 6667 * flops / peak == pytest.approx(0.39, abs=0.01)
    assert gpu.peak_flops("NVIDIA H200 NVL") == gpu.peak_flops("NVIDIA T4") == 0
