"""Prompts: exactly one BOS, plain or in a chat template, for any tokenizer, question or context."""

import pytest
from tokenizers import processors

from lib.infer.prompts import chat_prompt_for, encoded
from lib.lab.bases import train_tokenizer
from tests.rows import query as make_query

LLAMA_3 = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}</s>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
READY = " Read {{ it }}:\n<text>\n\ta <s>\n</text>\n\nWho?\n<answer>\n"


QUERY = make_query()


def tokenizer(single: str = "<s> $A", chat_template: str | None = None):
    """Return a laboratory's tokenizer that surrounds a text as `single` says."""
    made = train_tokenizer(["Question: Who is it?\nAnswer: nobody"], 300)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    made.chat_template = chat_template
    return made


@pytest.mark.parametrize(("single", "n_bos"), [("<s> $A", 1), ("$A", 0), ("<s> $A </s>", 1)])
def test_a_plain_prompt_has_the_bos_that_the_tokenizer_writes_and_no_eos(single, n_bos):
    made = tokenizer(single)
    for prompt in encoded(made, [QUERY, make_query(question="Who, then?")]):
        assert prompt.count(made.bos_token_id) == n_bos
        assert prompt[:n_bos] == [made.bos_token_id] * n_bos
        assert made.eos_token_id not in prompt


@pytest.mark.parametrize("chat_template", [None, LLAMA_3])
def test_control_tokens_spelled_out_in_a_question_are_letters(chat_template):
    made = tokenizer(chat_template=chat_template)
    (prompt,) = encoded(made, [make_query(question="Is <s>old</s> text struck out?")])
    assert prompt.count(made.bos_token_id) == 1
    assert prompt.count(made.eos_token_id) == bool(chat_template)
    assert "<s>old</s>" in made.decode(prompt)


@pytest.mark.parametrize("chat_template", [LLAMA_3, LLAMA_3.replace("{{ bos_token }}", "")])
def test_a_chat_prompt_has_one_bos_whether_or_not_its_template_writes_it(chat_template):
    made = tokenizer(chat_template=chat_template)
    found = [made.decode(prompt) for prompt in encoded(made, [QUERY, make_query(context=READY)])]
    assert found == [
        f"<s><|user|>\n{text}</s><|assistant|>\n"
        for text in (chat_prompt_for(QUERY.question), READY)
    ]


def test_a_chat_template_that_writes_bos_twice_is_refused():
    with pytest.raises(ValueError, match="one BOS"):
        encoded(tokenizer(chat_template="<s>" + LLAMA_3), [QUERY])
