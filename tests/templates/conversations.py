"""Conversations of every shape that chat templates tell apart."""

WEATHER_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place <now> & here, \"quoted\" and 'so'.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Name of the place, e.g. Zürich"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": ["integer", "null"], "minimum": 1},
                "where": {
                    "type": "object",
                    "properties": {"lat": {"type": "number"}, "lon": {"type": "number", "description": "east"}},
                    "required": ["lat"],
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["place"],
        },
    },
}
SUM_TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}
TOOLS = [WEATHER_TOOL, SUM_TOOL]

USER = {"role": "user", "content": "  Hello there,\n\n  who are you?  "}
SYSTEM = {"role": "system", "content": "Be brief.\nAnd kind. "}
ASSISTANT = {"role": "assistant", "content": "I am a model. <|im_end|> isn't the end."}
AGAIN = {"role": "user", "content": "Und noch: naïve 你好 👍 {{ 7 }}?"}


def call(name, arguments, identifier):
    return {"type": "function", "id": identifier, "function": {"name": name, "arguments": arguments}}


def calling(*calls, content=""):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(identifier, name, content):
    return {"role": "tool", "tool_call_id": identifier, "name": name, "content": content}


ONE_CALL = call("get_weather", {"place": "Zürich", "days": 2, "exact": True, "where": {"lat": 47.4}}, "abcdefgh1")
TWO_CALLS = (call("add", {"a": 1, "b": 2.5}, "abcdefgh2"), call("get_weather", {"place": "Oslo", "tags": ["x", None]}, "abcdefgh3"))
WEATHER_RESULT = result("abcdefgh1", "get_weather", "{\"degrees\": 21.5, \"sky\": \"clear\"}")
TWO_RESULTS = (result("abcdefgh2", "add", "3.5"), result("abcdefgh3", "get_weather", "rain"))

MESSAGES = {
    "plain": [USER],
    "system": [SYSTEM, USER],
    "turns": [USER, ASSISTANT, AGAIN],
    "system_turns": [SYSTEM, USER, ASSISTANT, AGAIN],
    "thinking": [USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes.", "reasoning_content": "hm"}, AGAIN],
    "assistant_first": [ASSISTANT],
    "ends_with_assistant": [USER, ASSISTANT],
    "two_users": [USER, AGAIN],
    "developer": [{"role": "developer", "content": "Be brief."}, USER],
    "unknown_role": [USER, {"role": "narrator", "content": "Meanwhile"}],
    "no_content": [{"role": "user", "content": None}],
    "empty_content": [{"role": "user", "content": ""}],
    "call": [USER, calling(ONE_CALL)],
    "call_text": [SYSTEM, USER, calling(ONE_CALL, content="Let me look.")],
    "call_none": [USER, calling(ONE_CALL, content=None)],
    "call_as_text": [USER, calling(call("add", "{\"a\": 1}", "abcdefgh4"))],
    "call_result": [USER, calling(ONE_CALL), WEATHER_RESULT],
    "call_answer": [SYSTEM, USER, calling(ONE_CALL), WEATHER_RESULT, {"role": "assistant", "content": "It is clear."}, AGAIN],
    "two_calls": [USER, calling(*TWO_CALLS), *TWO_RESULTS],
    "two_calls_answer": [USER, calling(*TWO_CALLS), *TWO_RESULTS, {"role": "assistant", "content": "Rain."}, AGAIN],
}


def as_parts(message):
    """The same message with its text as a list of parts."""
    text = message.get("content")
    if not isinstance(text, str):
        return message
    return {**message, "content": [{"type": "text", "text": text}]}


def conversations():
    """(name, keyword arguments of apply_chat_template)"""
    for name, messages in MESSAGES.items():
        for tools in (None, TOOLS):
            for prompts in (True, False):
                yield (f"{name}{'+tools' if tools else ''}{'' if prompts else '-prompt'}",
                       {"messages": messages, "tools": tools, "add_generation_prompt": prompts})
        yield f"{name}+parts", {"messages": [as_parts(m) for m in messages], "tools": None, "add_generation_prompt": True}
