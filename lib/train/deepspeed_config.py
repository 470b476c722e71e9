"""The DeepSpeed configuration of a training on several processes: written beside the model, nothing left to chance."""

from lib.train.recipe import Recipe

STAGES = (1, 2, 3)


def deepspeed_config(recipe: Recipe, processes: int, zero_stage: int) -> dict[str, object]:
    """ZeRO stage 1 shards the optimizer's state, 2 the gradients too, 3 the weights too (Rajbhandari et al., 2020).

    With bf16 the weights are bf16 and the optimizer's shard keeps them in float32, unlike on one process, where the
    weights are float32 and only the arithmetic is bf16. Gradients are summed in float32 in any case: DeepSpeed would
    else take the weights' type, and 8 steps of accumulation in bf16 lose small gradients.
    Raises ValueError for another stage, or where the global batch cannot be split over the processes.
    """
    if zero_stage not in STAGES:
        raise ValueError(f"zero_stage is {zero_stage}: give 1, 2 or 3")
    zero = {"stage": zero_stage}
    if zero_stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True  # else a checkpoint is no Hugging Face model
    return {"train_batch_size": recipe.global_batch_size, "train_micro_batch_size_per_gpu": recipe.device_batch_size,
            "gradient_accumulation_steps": recipe.accumulation(processes), "gradient_clipping": 1.0,
            "zero_optimization": zero, "bf16": {"enabled": recipe.arithmetic() == "bf16"},
            "data_types": {"grad_accum_dtype": "fp32"}}
