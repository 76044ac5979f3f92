#!/usr/bin/env python3
"""The `anthropic` Python package against a running server with the starter model, and the shape of what
Claude Code sends."""

import json
import unittest

from running_server import RunningServer, need

anthropic = need('anthropic')


class AnthropicClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer()
        cls.client = anthropic.Anthropic(base_url=cls.server.url, api_key='any', max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def options(self, text, **options):
        return {'model': 'smollm2', 'max_tokens': 24, 'extra_body': {'temperature': 0},
                'messages': [{'role': 'user', 'content': text}], **options}

    def ask(self, text, **options):
        return self.client.messages.create(**self.options(text, **options))

    def test_plain_answer(self):
        answer = self.ask('Name the capital of Germany.')
        self.assertEqual((answer.type, answer.role), ('message', 'assistant'))
        self.assertEqual([block.type for block in answer.content], ['text'])
        self.assertIn('Berlin', answer.content[0].text)
        self.assertIn(answer.stop_reason, ('end_turn', 'max_tokens'))
        self.assertGreater(answer.usage.output_tokens, 0)

    def test_stream_equals_plain(self):
        plain = self.ask('Name three colours.')
        with self.client.messages.stream(**self.options('Name three colours.')) as stream:
            text = ''.join(stream.text_stream)
            last = stream.get_final_message()
        self.assertEqual(text, plain.content[0].text)
        self.assertEqual([(block.type, block.text) for block in last.content],
                         [(block.type, block.text) for block in plain.content])
        self.assertEqual(last.stop_reason, plain.stop_reason)
        self.assertEqual(last.usage.output_tokens, plain.usage.output_tokens)

    def test_events_come_in_order(self):
        events = list(self.client.messages.create(**self.options('Hello', stream=True)))
        kinds = [event.type for event in events if event.type != 'ping']
        deltas = [kind for kind in kinds if kind == 'content_block_delta']
        self.assertEqual(kinds, ['message_start', 'content_block_start', *deltas, 'content_block_stop',
                                 'message_delta', 'message_stop'])
        self.assertEqual({event.index for event in events if event.type.startswith('content_block')}, {0})
        self.assertGreater(events[0].message.usage.input_tokens, 0)

    def test_counting_equals_what_is_read(self):
        """H40"""
        texts = self.options('How far is the moon?', system='Answer shortly.')
        counted = self.client.messages.count_tokens(model='smollm2', messages=texts['messages'],
                                                    system=texts['system'])
        started = next(iter(self.client.messages.create(**texts, stream=True)))
        self.assertEqual(counted.input_tokens, started.message.usage.input_tokens)
        self.assertEqual(counted.input_tokens, self.ask('How far is the moon?', system='Answer shortly.')
                         .usage.input_tokens)
        longer = self.client.messages.count_tokens(model='smollm2', messages=texts['messages'],
                                                   system=texts['system'] + ' Be polite.')
        self.assertGreater(longer.input_tokens, counted.input_tokens)

    def test_stop_sequences(self):
        whole = self.ask('Count from one to ten.', max_tokens=40).content[0].text
        stop = whole[8:14]
        cut = self.ask('Count from one to ten.', max_tokens=40, stop_sequences=[stop])
        self.assertEqual(cut.content[0].text, whole[:whole.index(stop)])
        self.assertEqual((cut.stop_reason, cut.stop_sequence), ('stop_sequence', stop))
        short = self.ask('Count from one to ten.', max_tokens=3)
        self.assertEqual((short.stop_reason, short.stop_sequence), ('max_tokens', None))

    def test_answer_goes_on_from_its_beginning(self):
        whole = self.ask('Name the capital of Germany.').content[0].text
        beginning = ' '.join(whole.split(' ')[:3])
        begun = self.client.messages.create(**self.options('', messages=[
            {'role': 'user', 'content': 'Name the capital of Germany.'},
            {'role': 'assistant', 'content': beginning}]))
        self.assertEqual(beginning + begun.content[0].text, whole)

    def test_a_tool_that_must_be_used(self):
        tool = {'name': 'get_weather', 'input_schema': {
            'type': 'object', 'properties': {'city': {'type': 'string', 'maxLength': 30}}, 'required': ['city']}}
        for choice in ({'type': 'any'}, {'type': 'tool', 'name': 'get_weather', 'disable_parallel_tool_use': True}):
            options = {'tools': [tool], 'tool_choice': {'disable_parallel_tool_use': True, **choice}, 'max_tokens': 120}
            message = self.ask('Weather in Rome?', **options)
            self.assertEqual(message.stop_reason, 'tool_use')
            use, = message.content
            self.assertEqual((use.type, use.name, list(use.input)), ('tool_use', 'get_weather', ['city']))
            with self.client.messages.stream(**self.options('Weather in Rome?', **options)) as stream:
                streamed = stream.get_final_message()
            self.assertEqual([(block.name, block.input) for block in streamed.content], [(use.name, use.input)])
            self.assertEqual(streamed.stop_reason, 'tool_use')

    def test_the_result_of_a_tool(self):
        tool = {'name': 'get_weather', 'description': 'Tells the weather of a city.', 'input_schema': {
            'type': 'object', 'properties': {'city': {'type': 'string', 'maxLength': 20}}, 'required': ['city']}}
        first = self.ask('Weather in Rome?', tools=[tool], tool_choice={'type': 'any'}, max_tokens=120)
        calls = [block for block in first.content if block.type == 'tool_use']
        told = self.client.messages.create(**self.options('', tools=[tool], messages=[
            {'role': 'user', 'content': 'Weather in Rome?'},
            {'role': 'assistant', 'content': [block.model_dump(exclude_none=True) for block in first.content]},
            {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': call.id, 'content': 'Rain.'}
                                         for call in calls]}]))
        self.assertTrue(told.content)

    def test_schema(self):
        schema = {'type': 'object', 'properties': {'age': {'type': 'integer', 'minimum': 0, 'maximum': 130}},
                  'required': ['age'], 'additionalProperties': False}
        answer = self.ask('How old was Ada?', max_tokens=100,
                          output_config={'format': {'type': 'json_schema', 'schema': schema}})
        self.assertEqual(list(json.loads(answer.content[0].text)), ['age'])

    def test_what_claude_code_sends(self):
        """H42: a server tool has no schema, and its results stand in the history."""
        cached = {'cache_control': {'type': 'ephemeral'}}
        body = {'model': 'claude', 'max_tokens': 8, 'stream': True, 'metadata': {'user_id': 'someone'},
                'system': [{'type': 'text', 'text': 'You are a tool.', **cached}],
                'thinking': {'type': 'disabled'},
                'tools': [{'type': 'web_search_20250305', 'name': 'web_search', 'max_uses': 8}],
                'messages': [
                    {'role': 'user', 'content': [{'type': 'text', 'text': 'List the files.', **cached}]},
                    {'role': 'assistant', 'content': [
                        {'type': 'thinking', 'thinking': 'I should look.', 'signature': 'x'},
                        {'type': 'text', 'text': 'I look.'},
                        {'type': 'server_tool_use', 'id': 'srv_1', 'name': 'web_search', 'input': {'query': 'x'}},
                        {'type': 'web_search_tool_result', 'tool_use_id': 'srv_1', 'content': []},
                        {'type': 'mcp_tool_use', 'id': 'm', 'name': 'n', 'server_name': 's', 'input': {}},
                        {'type': 'bash_code_execution_tool_result', 'tool_use_id': 'x', 'content': {'stdout': ''}},
                        {'type': 'tool_use', 'id': 'toolu_1', 'name': 'ls', 'input': {'path': '.'}}]},
                    {'role': 'user', 'content': [
                        {'type': 'tool_result', 'tool_use_id': 'toolu_1', 'is_error': False,
                         'content': [{'type': 'text', 'text': 'README.md'}]},
                        {'type': 'text', 'text': 'And now?', **cached}]}]}
        with self.server.request('/v1/messages?beta=true', body,
                                 headers={'anthropic-version': '2023-06-01', 'x-api-key': 'any'}) as answer:
            lines = answer.read().decode().split('\n')
        self.assertEqual(lines[0], 'event: message_start')
        self.assertEqual(json.loads(lines[-3].removeprefix('data: ')), {'type': 'message_stop'})
        for event, data in zip(lines[0::3], lines[1::3]):
            self.assertEqual(event.removeprefix('event: '), json.loads(data.removeprefix('data: '))['type']
                             if data else '')

    def test_errors(self):
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask('word ' * 20000)
        self.assertEqual(caught.exception.body['type'], 'error')
        self.assertEqual(caught.exception.body['error']['type'], 'invalid_request_error')
        self.assertIn('tokens', caught.exception.body['error']['message'])
        for wrong in [{'messages': []}, {'messages': [{'role': 'user', 'content': 5}]}, {'max_tokens': 0},
                      {'messages': [{'role': 'user', 'content': [{'type': 'image', 'source': {
                          'type': 'base64', 'media_type': 'image/png', 'data': ''}}]}]}]:
            with self.assertRaises(anthropic.BadRequestError):
                self.ask('Hello', **wrong)


if __name__ == '__main__':
    unittest.main(verbosity=2)
