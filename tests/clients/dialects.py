"""Four wire formats of model providers: what a request shows to a model, and a reply with the next tool call."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

Body = Mapping[str, Any]
# smolagents sends results as messages of the user.
OBSERVATION = re.compile(r'"text": "(Observation|Error|Call id):')
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model is offered it; Codex puts the tools of a server into a namespace."""

    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model."""

    tool: Tool
    arguments: Mapping[str, Any]
    id: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as one document and as a stream of events."""

    whole: Body
    events: tuple[Body, ...]
    are_named: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """A wire format: the end of its address, and functions that read a request and write a reply."""

    ending: str
    tools: Callable[[Body], Iterator[Tool]]
    results: Callable[[Body], Iterator[Any]]
    is_picture: Callable[[str, Body], bool]
    reply: Callable[[Call | str], Reply]
    last_event: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of one request: everything that a model sees."""

    tools: tuple[Tool, ...]
    results: tuple[str, ...]
    pictures: int
    text: str

    @classmethod
    def of(cls, dialect: Dialect, body: Body) -> "Shown":
        rest, pictures = _without_pictures(body, dialect.is_picture)
        results = tuple(
            each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in dialect.results(rest)
        )
        return cls((*dialect.tools(body),), results, pictures, json.dumps(rest, ensure_ascii=False))


def _without_pictures(value: Any, is_picture: Callable[[str, Body], bool], key: str = "") -> tuple[Any, int]:  # noqa: ANN401 - JSON
    """Return JSON with a mark in the place of each picture, and their number."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if is_picture(key, members):
            return {"picture": True}, 1
        rest = {name: _without_pictures(each, is_picture, name) for name, each in members.items()}
        return {name: each for name, (each, _) in rest.items()}, sum(count for _, count in rest.values())
    if isinstance(value, list):
        items = [_without_pictures(each, is_picture) for each in cast("list[Any]", value)]
        return [each for each, _ in items], sum(count for _, count in items)
    return value, 0


def _chat_tools(body: Body) -> Iterator[Tool]:
    yield from (Tool(each["function"]["name"]) for each in body.get("tools") or () if each["type"] == "function")


def _chat_results(body: Body) -> Iterator[Any]:
    for each in body["messages"]:
        if each["role"] == "tool" or (each["role"] == "user" and OBSERVATION.search(json.dumps(each["content"]))):
            yield each["content"]


def _chat_reply(said: Call | str) -> Reply:
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if isinstance(said, Call):
        function = {"name": said.tool.name, "arguments": json.dumps(said.arguments)}
        message["tool_calls"] = [{"index": 0, "id": said.id, "type": "function", "function": function}]
    reason = "stop" if isinstance(said, str) else "tool_calls"
    base = {"id": "reply", "created": 1, "model": "scripted"}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    chunk = {**base, "object": "chat.completion.chunk"}
    return Reply(
        {**base, "object": "chat.completion", "usage": USAGE, "choices": [choice]},
        (
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": USAGE},
        ),
    )


def _responses_tools(body: Body) -> Iterator[Tool]:
    for each in body.get("tools") or ():
        if each["type"] == "namespace":
            yield from (Tool(inner["name"], each["name"]) for inner in each["tools"])
        elif each["type"] in ("function", "custom"):
            yield Tool(each["name"])


def _responses_results(body: Body) -> Iterator[Any]:
    items: list[Body] = body["input"] if isinstance(body.get("input"), list) else []
    yield from (each["output"] for each in items if str(each.get("type", "")).endswith("call_output"))


def _responses_reply(said: Call | str) -> Reply:
    place = {"output_index": 0}
    if isinstance(said, str):
        part: dict[str, Any] = {"type": "output_text", "text": said, "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        inner = {**place, "item_id": "msg_1", "content_index": 0}
        middle: tuple[Body, ...] = (
            {"type": "response.content_part.added", **inner, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **inner, "delta": said, "logprobs": []},
            {"type": "response.output_text.done", **inner, "text": said, "logprobs": []},
            {"type": "response.content_part.done", **inner, "part": part},
        )
    else:
        arguments = json.dumps(said.arguments)
        item = {"type": "function_call", "id": f"fc_{said.id}", "call_id": said.id, "name": said.tool.name}
        item |= {"arguments": arguments} | ({"namespace": said.tool.namespace} if said.tool.namespace else {})
        inner = {**place, "item_id": item["id"]}
        middle = (
            {"type": "response.function_call_arguments.delta", **inner, "delta": arguments},
            {"type": "response.function_call_arguments.done", **inner, "name": item["name"], "arguments": arguments},
        )
    item["status"] = "completed"
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed"}
    whole |= {"model": "scripted", "output": [item], "usage": usage, "tools": [], "tool_choice": "auto"}
    whole |= {"parallel_tool_calls": False}
    events: tuple[Body, ...] = (
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", **place, "item": {**item, "status": "in_progress"}},
        *middle,
        {"type": "response.output_item.done", **place, "item": item},
        {"type": "response.completed", "response": whole},
    )
    return Reply(whole, tuple({**each, "sequence_number": at} for at, each in enumerate(events)), are_named=True)


def _messages_tools(body: Body) -> Iterator[Tool]:
    yield from (Tool(each["name"]) for each in body.get("tools") or ())


def _messages_results(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        blocks: list[Body] = message["content"] if isinstance(message["content"], list) else []
        yield from (each.get("content") for each in blocks if each["type"] == "tool_result")


def _messages_reply(said: Call | str) -> Reply:
    if isinstance(said, str):
        block: dict[str, Any] = {"type": "text", "text": said}
        first, reason = {**block, "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": said}
    else:
        block = {"type": "tool_use", "id": said.id, "name": said.tool.name, "input": said.arguments}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
        first, reason = {**block, "input": dict[str, Any]()}, "tool_use"
    whole: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"}
    whole |= {"content": [block], "stop_reason": reason, "stop_sequence": None}
    whole |= {"usage": {"input_tokens": 10, "output_tokens": 5}}
    ending = {"stop_reason": reason, "stop_sequence": None}
    events: tuple[Body, ...] = (
        {"type": "message_start", "message": {**whole, "content": list[Body](), "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": first},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )
    return Reply(whole, events, are_named=True)


def _gemini_tools(body: Body) -> Iterator[Tool]:
    for each in body.get("tools") or ():
        yield from (Tool(function["name"]) for function in each.get("functionDeclarations", ()))


def _gemini_results(body: Body) -> Iterator[Any]:
    for content in body.get("contents") or ():
        yield from (each["functionResponse"]["response"] for each in content["parts"] if "functionResponse" in each)


def _gemini_reply(said: Call | str) -> Reply:
    if isinstance(said, str):
        part: dict[str, Any] = {"text": said}
    else:
        part = {"functionCall": {"id": said.id, "name": said.tool.name, "args": said.arguments}}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted",
    }
    return Reply(whole, (whole,))


def _typed(kind: str) -> Callable[[str, Body], bool]:
    return lambda _, value: value.get("type") == kind


DIALECTS = (
    Dialect("/chat/completions", _chat_tools, _chat_results, _typed("image_url"), _chat_reply, "[DONE]"),
    Dialect("/responses", _responses_tools, _responses_results, _typed("input_image"), _responses_reply),
    Dialect("/messages", _messages_tools, _messages_results, _typed("image"), _messages_reply),
    Dialect("enerateContent", _gemini_tools, _gemini_results, lambda key, _: key == "inlineData", _gemini_reply),
)
