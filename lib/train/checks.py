"""What is wrong with a base model for these blocks, said before minutes of training."""

import torch
from transformers import PreTrainedModel

from lib.train.packing import Blocks


def check_base(model: PreTrainedModel, blocks: Blocks, device_batch_size: int) -> None:
    """Raise ValueError, saying what to change, where `model` cannot be trained on `blocks` or would be wrongly."""
    name = model.config.name_or_path or type(model).__name__
    vocabulary = model.get_input_embeddings().num_embeddings
    highest = max(map(max, blocks.input_ids))
    if highest >= vocabulary:
        raise ValueError(f"the tokenizer of {name} writes token {highest}, the model has {vocabulary}: they do not "
                         "belong together; choose another base_model")
    longest = getattr(model.config, "max_position_embeddings", None) or len(blocks.input_ids[0])
    if longest < len(blocks.input_ids[0]):
        raise ValueError(f"block_size is {len(blocks.input_ids[0])}, and {name} reads {longest} tokens at most: "
                         "lower it")
    attention = model.config._attn_implementation or ""
    if "flash" in attention and device_batch_size > 1 and blocks.has_borders:
        # transformers looks for restarting positions under FlashAttention only in a batch of one sequence
        # (modeling_flash_attention_utils._is_packed_sequence), and says nothing where it does not look.
        raise ValueError(f"with {attention}, texts in one block see each other unless device_batch_size is 1, and it "
                         f"is {device_batch_size}: set it to 1, packing to concat, or attn_implementation to sdpa")
    if not is_causal(model):
        raise ValueError(f"the base model {name} sees the tokens that it is to predict: it is not causal; choose a "
                         "decoder such as meta-llama/Llama-3.1-8B as base_model")


@torch.no_grad()
def is_causal(model: PreTrainedModel) -> bool:
    """Whether another last token leaves the logits before it as they are. Asked of the model, not of its name:
    transformers loads BERT as a causal model and only warns."""
    was_training = model.training
    model.eval()
    n_tokens = min(8, model.get_input_embeddings().num_embeddings)
    tokens = torch.arange(n_tokens, device=model.device)[None].repeat(2, 1)  # (2, n_tokens)
    tokens[1, -1] = 0
    before = model(input_ids=tokens).logits[:, :-1].float()  # (2, n_tokens - 1, vocabulary)
    model.train(was_training)
    return bool((before[0] - before[1]).abs().max() <= 1e-5 * before.abs().max())
