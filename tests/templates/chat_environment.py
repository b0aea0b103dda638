"""Jinja2 set up as transformers' apply_chat_template sets it up, with a clock that stands still."""

import datetime
import json

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1_700_000_000  # seconds since 1970; the tests run in UTC


class TemplateRaised(jinja2.exceptions.TemplateError):
    """What raise_exception() raises."""


class Generation(Extension):
    """{% generation %}, which training marks the assistant's words with; for a prompt it is its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def _raise_exception(message):
    raise TemplateRaised(message)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _strftime_now(layout):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(layout)


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, LoopControlExtension])
    made.filters["tojson"] = _tojson
    made.globals["raise_exception"] = _raise_exception
    made.globals["strftime_now"] = _strftime_now
    return made
