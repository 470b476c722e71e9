"""Write a Llama folder as one GGUF file for llama.cpp (ggml's docs/gguf.md, version 3)."""

import json
import struct
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.layers": "blk",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down"}


def write_gguf(folder: Path, file: Path) -> None:
    """Write a folder's Llama with tied embeddings and the laboratory's tokenizer, in float32."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    tensors = {name: tensor for name, tensor in model.state_dict().items()
               if name != "lm_head.weight"}  # tied
    metadata, infos, data = _metadata(folder, model.config), b"", b""
    for name, tensor in tensors.items():
        if "q_proj" in name or "k_proj" in name:  # rotary: halves of a head -> neighbours
            half = model.config.head_dim // 2
            halves = tensor.reshape(-1, 2, half, tensor.shape[1])  # (heads, 2, half, hidden)
            tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
        for old, new in _NAMES.items():
            name = name.replace(old, new)
        sizes = tensor.shape[::-1]  # the fastest-varying first
        infos += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, len(data))
        data += _padded(tensor.contiguous().numpy().astype("<f4").tobytes())
    values = {name: _value(value) for name, value in metadata.items()}
    pairs = b"".join(_text(name) + struct.pack("<I", kind) + value
                     for name, (kind, value) in values.items())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    file.write_bytes(_padded(head + pairs + infos) + data)


def _metadata(folder: Path, config: LlamaConfig) -> dict[str, object]:
    bpe = json.loads((folder / "tokenizer.json").read_text())["model"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].get)
    special = set(tokenizer.all_special_tokens)
    return {
        "general.architecture": "llama", "llama.context_length": config.max_position_embeddings,
        "llama.embedding_length": config.hidden_size, "llama.block_count": config.num_hidden_layers,
        "llama.feed_forward_length": config.intermediate_size,
        "llama.attention.head_count": config.num_attention_heads,
        "llama.attention.head_count_kv": config.num_key_value_heads,
        "llama.rope.dimension_count": config.head_dim,
        "llama.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "llama.vocab_size": config.vocab_size,
        "llama.rope.freq_base": config.rope_parameters["rope_theta"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",  # single digits, then GPT-2's pattern
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": [" ".join(pair) for pair in bpe["merges"]],
        "tokenizer.ggml.token_type": [3 if token in special else 1 for token in tokens],
        "tokenizer.ggml.bos_token_id": tokenizer.bos_token_id,
        "tokenizer.ggml.eos_token_id": tokenizer.eos_token_id,
        "tokenizer.ggml.padding_token_id": tokenizer.pad_token_id,
        "tokenizer.ggml.add_bos_token": True, "tokenizer.chat_template": tokenizer.chat_template}


def _value(value: object) -> tuple[int, bytes]:
    """Return the code of a value's type, and its bytes."""
    if isinstance(value, list):
        kind = 5 if isinstance(value[0], int) else 8
        return 9, struct.pack("<IQ", kind, len(value)) + b"".join(_value(item)[1] for item in value)
    if isinstance(value, str):
        return 8, _text(value)
    kind, form = {bool: (7, "<?"), int: (4, "<I"), float: (6, "<f")}[type(value)]
    return kind, struct.pack(form, value)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 32)
