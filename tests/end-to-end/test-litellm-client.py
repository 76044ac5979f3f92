#!/usr/bin/env python3
"""The `litellm` package against a running server with the starter model, by the three of its providers that
speak the server's dialects. One program for all, since importing the package takes seconds."""

import json
import os
import unittest

from running_server import NAME, RunningServer, need

os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'  # asks the network for a list of prices otherwise
litellm = need('litellm')
litellm.suppress_debug_info = True

TOOL = {'type': 'function', 'function': {
    'name': 'get_weather', 'description': 'Tells the weather of a city.', 'parameters': {
        'type': 'object', 'properties': {'city': {'type': 'string', 'maxLength': 30}}, 'required': ['city']}}}
SCHEMA = {'type': 'object', 'properties': {'age': {'type': 'integer', 'minimum': 0, 'maximum': 130}},
          'required': ['age'], 'additionalProperties': False}


class LiteLLM(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer(fixed=False)
        cls.providers = {'openai': cls.server.url + '/v1', 'ollama_chat': cls.server.url,
                         'anthropic': cls.server.url}

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, provider, text, **options):
        messages = text if isinstance(text, list) else [{'role': 'user', 'content': text}]
        return litellm.completion(**{
            'model': f'{provider}/{NAME}', 'api_base': self.providers[provider], 'api_key': 'any', 'temperature': 0,
            'max_tokens': 24, 'num_retries': 0, 'messages': messages, **options})

    def each(self):
        for provider in self.providers:
            with self.subTest(provider):
                yield provider

    def test_chat(self):
        for provider in self.each():
            answer = self.ask(provider, 'Name the capital of Germany.')
            self.assertIn('Berlin', answer.choices[0].message.content)
            self.assertIn(answer.choices[0].finish_reason, ('stop', 'length'))
            self.assertGreater(answer.usage.prompt_tokens, 0)

    def test_stream_equals_plain(self):
        for provider in self.each():
            plain = self.ask(provider, 'Name three colours.')
            chunks = list(self.ask(provider, 'Name three colours.', stream=True))
            self.assertEqual(''.join(c.choices[0].delta.content or '' for c in chunks if c.choices),
                             plain.choices[0].message.content)
            reasons = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
            self.assertEqual(reasons, [plain.choices[0].finish_reason])

    def test_tools(self):
        for provider in self.each():
            if provider == 'ollama_chat':
                continue  # whose dialect cannot demand a call
            options = {'tools': [TOOL], 'tool_choice': 'required', 'parallel_tool_calls': False, 'max_tokens': 120}
            answer = self.ask(provider, 'How is the weather in Paris?', **options).choices[0]
            call, = answer.message.tool_calls
            self.assertEqual(answer.finish_reason, 'tool_calls')
            self.assertEqual(call.function.name, 'get_weather')
            self.assertEqual(list(json.loads(call.function.arguments)), ['city'])
            chunks = list(self.ask(provider, 'How is the weather in Paris?', stream=True, **options))
            joined = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls
            self.assertEqual([(c.function.name, json.loads(c.function.arguments)) for c in joined],
                             [(call.function.name, json.loads(call.function.arguments))])

    def test_the_result_of_a_tool(self):
        for provider in self.each():
            answer = self.ask(provider, [
                {'role': 'user', 'content': 'How is the weather in Paris?'},
                {'role': 'assistant', 'content': None, 'tool_calls': [
                    {'id': 'call_1', 'type': 'function',
                     'function': {'name': 'get_weather', 'arguments': '{"city": "Paris"}'}}]},
                {'role': 'tool', 'tool_call_id': 'call_1', 'name': 'get_weather', 'content': 'Rain.'}], tools=[TOOL])
            message = answer.choices[0].message
            self.assertTrue(message.content or message.tool_calls)

    def test_schema(self):
        for provider in self.each():
            form = {'type': 'json_schema', 'json_schema': {'name': 'person', 'schema': SCHEMA, 'strict': True}}
            answer = self.ask(provider, 'How old was Ada?', response_format=form, max_tokens=100)
            self.assertEqual(list(json.loads(answer.choices[0].message.content)), ['age'])

    def test_errors(self):
        for provider in self.each():
            with self.assertRaises(litellm.exceptions.BadRequestError) as caught:
                self.ask(provider, 'word ' * 20000)
            if provider != 'ollama_chat':  # where the package looks for no such words
                self.assertIsInstance(caught.exception, litellm.exceptions.ContextWindowExceededError)
            with self.assertRaises(litellm.exceptions.BadRequestError):
                self.ask(provider, 'Hello', temperature=-1)
        with self.assertRaises(litellm.exceptions.NotFoundError):
            self.ask('openai', 'Hello', model='openai/none')


if __name__ == '__main__':
    unittest.main(verbosity=2)
