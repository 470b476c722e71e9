"""Prompts: one BOS exactly, plain or in a chat template, whatever tokenizer, question or context there is."""

import pytest
from tokenizers import processors

from lib.core.records import Query
from lib.infer.prompts import asked, chat_prompt_for, encoded, is_read, prompt_for
from lib.lab.base_model import train_tokenizer
from lib.train.packing import pack

LLAMA_3 = ("{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}</s>{% endfor %}"
           "{% if add_generation_prompt %}<|assistant|>\n{% endif %}")


def query(question: str, context: str = "") -> Query:
    return Query(query_id="q", document_id="d", question=question, answer="a", structure="natural",
                 source_reference="", start=0, end=0, entity_count=None, block_type="prose", context=context)


def tokenizer(single: str = "<s> $A", chat_template: str | None = None):
    """A laboratory's tokenizer that puts around a text what `single` says."""
    made = train_tokenizer(["Question: Who is it?\nAnswer: nobody"], 300)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[("<s>", 0), ("</s>", 1)])
    made.chat_template = chat_template
    return made


@pytest.mark.parametrize(("single", "n_bos"), [("<s> $A", 1), ("$A", 0), ("<s> $A </s>", 1)])
def test_a_plain_prompt_has_the_bos_that_the_tokenizer_writes_and_no_eos(single, n_bos):
    made = tokenizer(single)
    for prompt in encoded(made, [query("Who?"), query("Who, then?")]):
        assert prompt.count(made.bos_token_id) == n_bos and prompt[:n_bos] == [made.bos_token_id] * n_bos
        assert made.eos_token_id not in prompt


def test_a_template_that_only_passes_a_message_on_makes_no_instruct_model():
    made = tokenizer(chat_template="{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}")
    assert encoded(made, [query("Who?")]) == encoded(made, [query("Who?")], "plain")


def test_a_prompt_begins_as_a_training_block_does():
    made = tokenizer()
    (prompt,) = encoded(made, [query("Who?")])
    assert pack([prompt_for("Who?")], made, 64, "document").input_ids[0][:len(prompt)] == prompt


@pytest.mark.parametrize("chat_template", [None, LLAMA_3])
def test_control_tokens_that_a_question_spells_are_letters(chat_template):
    made = tokenizer(chat_template=chat_template)
    (prompt,) = encoded(made, [query("Is <s>old</s> text struck out?", context="<s>Ignore</s>")])
    assert prompt.count(made.bos_token_id) == 1 and prompt.count(made.eos_token_id) == bool(chat_template)
    assert "<s>old</s>" in made.decode(prompt) and "<s>Ignore</s>" in made.decode(prompt)


@pytest.mark.parametrize("chat_template", [LLAMA_3, LLAMA_3.replace("{{ bos_token }}", "")])
def test_a_chat_prompt_has_one_bos_whether_or_not_its_template_writes_it(chat_template):
    made = tokenizer(chat_template=chat_template)
    (prompt,) = encoded(made, [query("Who?")])
    assert made.decode(prompt) == f"<s><|user|>\n{chat_prompt_for('Who?')}</s><|assistant|>\n"


def test_a_chat_template_that_writes_bos_twice_is_refused():
    with pytest.raises(ValueError, match="one BOS"):
        encoded(tokenizer(chat_template="<s>" + LLAMA_3), [query("Who?")])


def test_plain_is_asked_of_an_instruct_model_on_request_and_chat_needs_a_template():
    made = tokenizer(chat_template=LLAMA_3)
    assert made.decode(encoded(made, [query("Who?")], "plain")[0]) == "<s>" + prompt_for("Who?")
    with pytest.raises(ValueError, match="no chat template"):
        encoded(tokenizer(), [query("Who?")], "chat")


def test_a_question_cannot_fill_a_slot_of_the_prompt():
    assert prompt_for("{{ 7 * 7 }}?") == "Question: {{ 7 * 7 }}?\nAnswer:"


def test_a_context_stands_before_the_question():
    assert prompt_for("Who?", "Ann sings.") == "Ann sings.\n\nQuestion: Who?\nAnswer:"
    assert chat_prompt_for("Who?", "Ann sings.").startswith("Ann sings.\n\nWho?\n\nReply with")


READY = " Read {{ it }}:\n<text>\n\ta <s>\n</text>\n\nWho?\n<answer>\n"


def test_a_ready_made_prompt_is_asked_as_it_stands_and_a_query_without_one_as_ever():
    made = tokenizer()
    ready, closed = encoded(made, [query("Who?", READY), query("Who?")], is_ready=True)
    assert made.decode(ready) == "<s>" + READY and ready.count(made.bos_token_id) == 1
    assert [closed] == encoded(made, [query("Who?")])
    assert made.decode(encoded(made, [query("Who?", READY)])[0]) == "<s>" + prompt_for("Who?", READY)


def test_a_ready_made_prompt_is_the_turn_of_the_user_in_a_chat():
    made = tokenizer(chat_template=LLAMA_3)
    ready, closed = encoded(made, [query("Who?", READY), query("Who?")], is_ready=True)
    assert made.decode(ready) == f"<s><|user|>\n{READY}</s><|assistant|>\n"
    assert made.decode(closed) == f"<s><|user|>\n{chat_prompt_for('Who?')}</s><|assistant|>\n"


def test_only_a_context_that_is_said_to_be_ready_is_a_prompt():
    assert [is_read(query("Who?", context), is_ready) for context in ("", "Read.") for is_ready in (False, True)] == [
        False, False, False, True]
    assert asked(query("Who?", "Read."), True, chat_prompt_for) == "Read."
    assert asked(query("Who?", "Read."), False, chat_prompt_for) == chat_prompt_for("Who?", "Read.")
