"""The plan against what autograd keeps, and the paper's eight GPUs."""

from dataclasses import replace

import pytest
import torch
from transformers import GPTNeoXConfig, LlamaConfig, LlamaForCausalLM

from benchmarks.gpu import data_sheet
from lib.train.config import TrainConfig, plan, with_adapter

LLAMA_8B = LlamaConfig(
    hidden_size=4096,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    intermediate_size=14336,
    vocab_size=128256,
    tie_word_embeddings=False,
)
SMALL = LlamaConfig(
    hidden_size=128,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=352,
    vocab_size=500,
)
PAPER = TrainConfig(
    epochs=11,
    global_batch_size=64,
    device_batch_size=1,
    learning_rate=5e-6,
    warmup_steps=20,
    weight_decay=0.1,
    seed=42,
    precision="bf16",
    processes=8,
)


def test_zero_shards_gradients_and_optimizer_so_an_8b_model_fits_the_papers_devices():
    """Rajbhandari et al. 2020, figure 1, with gradients summed in float32."""
    n, planned = 8_030_261_248, plan(LLAMA_8B, PAPER, 4096)
    kept = planned.memory
    assert planned.parameters == n
    assert (kept["weights"], kept["gradients"], kept["optimizer"]) == (2 * n, 4 * n / 8, 12 * n / 8)
    assert planned.bytes_needed < 72e9
    summed = replace(PAPER, grad_accum_dtype="bf16")
    assert plan(LLAMA_8B, summed, 4096).memory == kept | {"gradients": 2 * n / 8}
    assert plan(GPTNeoXConfig(num_hidden_layers=1), PAPER, 64).memory["activations"] > 0


def test_a_device_has_the_peak_of_its_own_data_sheet():
    peaks = {"L4": 121e12, "L40S": 362e12, "L40": 0, "A100-SXM4-80GB": 312e12}
    assert {name: data_sheet(f"NVIDIA {name}") for name in peaks} == peaks


def test_lora_fits_an_8b_model_into_one_device_of_24_gb():
    n, trained = 8_030_261_248, 64 * 32 * 81_920  # rank, layers, inputs and outputs of a layer
    alone = replace(PAPER, processes=1, gradient_checkpointing=True)
    planned = plan(LLAMA_8B, replace(alone, lora_rank=64), 1024)
    kept = planned.memory
    assert planned.parameters == n
    assert kept["weights"] == 2 * n + 4 * trained
    assert (kept["gradients"], kept["optimizer"]) == (4 * trained, 8 * trained)
    assert planned.bytes_needed < 0.9 * 24e9 < plan(LLAMA_8B, alone, 1024).bytes_needed


def kept_by_autograd(dtype: torch.dtype, autocast: bool, config: TrainConfig) -> int:
    """Return the bytes kept for the backward pass of SMALL over 4 x 160 tokens, without weights."""
    model, held = LlamaForCausalLM(SMALL).to(dtype), {}
    ids = torch.randint(500, (4, 160))
    if config.gradient_checkpointing:
        model.activation_checkpointing_enable()
    if config.lora_rank:
        model = with_adapter(model, config)
        if not autocast:  # as DeepSpeed
            model.to(dtype)
    own = {weights.untyped_storage().data_ptr() for weights in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor  # alive: no other takes its address
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=autocast),
    ):
        model(input_ids=ids, labels=ids, use_cache=False)
    return sum(
        tensor.untyped_storage().nbytes() for address, tensor in held.items() if address not in own
    )


@pytest.mark.parametrize("again", [False, True], ids=["kept", "computed-again"])
@pytest.mark.parametrize(
    ("dtype", "autocast", "rank"),
    [
        (torch.float32, False, 0),
        (torch.float32, True, 0),
        (torch.bfloat16, False, 0),
        (torch.float32, False, 16),
        (torch.bfloat16, True, 16),
        (torch.bfloat16, False, 16),
    ],
)
def test_activations_are_what_autograd_keeps(dtype, autocast, rank, again):
    is_bf16 = autocast or dtype == torch.bfloat16
    config = replace(
        PAPER,
        device_batch_size=4,
        precision="bf16" if is_bf16 else "fp32",
        gradient_checkpointing=again,
        processes=2 if dtype == torch.bfloat16 and not autocast else 1,
        lora_rank=rank,
    )
    planned = plan(SMALL, config, 160).memory
    expected = planned["activations"] + 4 * 160 * 500 * 4  # and the log-probabilities
    if autocast and not rank:  # bf16 weights: all, or only the output layer's, never computed again
        expected += 500 * 128 * 2 if again else planned["temporary copies"]
    kept = kept_by_autograd(dtype, autocast, config)
    assert kept == pytest.approx(expected, rel=0.06)
