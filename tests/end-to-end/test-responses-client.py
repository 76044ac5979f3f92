#!/usr/bin/env python3
"""OpenAI's Responses API: the `openai` Python package against a running server with the starter model, and
the shape of what Codex sends."""

import json
import threading
import unittest

from running_server import OpenAITest, need

openai = need('openai')


class ResponsesClient(OpenAITest):
    def ask(self, question, **options):
        return self.client.responses.create(
            **{'model': 'smollm2', 'input': question, 'temperature': 0, 'max_output_tokens': 24, **options})

    def test_plain(self):
        answer = self.ask('Name the capital of Germany.')
        self.assertIn('Berlin', answer.output_text)
        self.assertEqual([item.type for item in answer.output], ['message'])
        self.assertEqual((answer.object, answer.error), ('response', None))
        self.assertEqual(answer.usage.total_tokens, answer.usage.input_tokens + answer.usage.output_tokens)

    def test_events(self):
        plain = self.ask('Name three colours.')
        events = list(self.ask('Name three colours.', stream=True))
        kinds = [event.type for event in events]
        deltas = [event.delta for event in events if event.type == 'response.output_text.delta']
        self.assertEqual(kinds, ['response.created', 'response.in_progress', 'response.output_item.added',
                                 'response.content_part.added', *['response.output_text.delta'] * len(deltas),
                                 'response.output_text.done', 'response.content_part.done',
                                 'response.output_item.done', 'response.incomplete'])
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        self.assertEqual(''.join(deltas), plain.output_text)
        self.assertEqual(events[-1].response.output_text, plain.output_text)
        self.assertEqual(events[-1].response.status, 'incomplete')
        self.assertEqual(events[-1].response.incomplete_details.reason, 'max_output_tokens')
        self.assertEqual(events[-2].item, events[-1].response.output[0])

    def test_stream_helper(self):
        with self.client.responses.stream(model='smollm2', input='Say hello.', temperature=0,
                                          max_output_tokens=400) as stream:
            kinds = [event.type for event in stream]
            answer = stream.get_final_response()
        self.assertEqual(kinds[-1], 'response.completed')
        self.assertEqual(answer.status, 'completed')
        self.assertTrue(answer.output_text)

    def test_conversation(self):
        first = self.ask('My name is Ada. What is my name?', instructions='Answer in one word.')
        second = self.ask('And what did I ask before?', previous_response_id=first.id)
        whole = self.ask([{'role': 'user', 'content': 'My name is Ada. What is my name?'},
                          {'role': 'assistant', 'content': [{'type': 'output_text', 'text': first.output_text}]},
                          {'type': 'message', 'role': 'user',
                           'content': [{'type': 'input_text', 'text': 'And what did I ask before?'}]}])
        self.assertEqual(second.output_text, whole.output_text)
        self.assertEqual(second.usage.input_tokens, whole.usage.input_tokens)
        self.assertEqual(second.previous_response_id, first.id)

    def test_stored(self):
        answer = self.ask('Hello')
        self.assertEqual(self.client.responses.retrieve(answer.id).output_text, answer.output_text)
        self.client.responses.delete(answer.id)
        for call in (self.client.responses.retrieve, self.client.responses.delete, self.client.responses.cancel):
            with self.assertRaises(openai.NotFoundError):
                call(answer.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(self.ask('Hello', store=False).id)
        with self.assertRaises(openai.NotFoundError):
            self.ask('Hello', previous_response_id=answer.id)

    def test_cancel(self):
        stream = self.ask('Tell me a very long story.', stream=True, max_output_tokens=4000)
        response = next(iter(stream)).response
        last = []
        reader = threading.Thread(target=lambda: last.extend(stream))
        reader.start()
        self.assertEqual(self.client.responses.cancel(response.id).status, 'cancelled')
        reader.join()
        self.assertEqual(last[-1].type, 'response.incomplete')
        self.assertEqual(last[-1].response.status, 'cancelled')

    def test_a_function_that_must_be_called(self):
        options = {'tools': [{'type': 'function', 'name': 'get_weather', 'parameters': {
            'type': 'object', 'properties': {'city': {'type': 'string', 'maxLength': 30}}, 'required': ['city']}}],
            'tool_choice': 'required', 'parallel_tool_calls': False, 'max_output_tokens': 120}
        answer = self.ask('Weather in Rome?', **options)
        call = [item for item in answer.output if item.type == 'function_call'][0]
        self.assertEqual((call.name, list(json.loads(call.arguments))), ('get_weather', ['city']))
        events = list(self.ask('Weather in Rome?', stream=True, **options))
        done = [event for event in events if event.type == 'response.function_call_arguments.done']
        self.assertEqual([event.arguments for event in done], [call.arguments])
        pieces = [event.delta for event in events if event.type == 'response.function_call_arguments.delta']
        self.assertEqual(''.join(pieces), call.arguments)
        told = self.ask([{'type': 'function_call_output', 'call_id': call.call_id, 'output': 'Rain.'}],
                        tools=options['tools'], previous_response_id=answer.id)
        self.assertTrue(told.output)

    def test_a_text_of_a_schema(self):
        schema = {'type': 'object', 'properties': {'n': {'type': 'integer', 'minimum': 1, 'maximum': 9}},
                  'required': ['n'], 'additionalProperties': False}
        answer = self.client.responses.create(
            model='smollm2', input='A number?', temperature=0, max_output_tokens=40,
            text={'format': {'type': 'json_schema', 'name': 'n', 'schema': schema}})
        self.assertIn(json.loads(answer.output_text)['n'], range(1, 10))

    def test_what_codex_sends(self):
        """H38: types of tools and items of the history that a server does not know are left out."""
        body = {'model': 'gpt-5-codex', 'instructions': 'You are a coding agent.', 'stream': True, 'store': False,
                'max_output_tokens': 16, 'include': ['reasoning.encrypted_content'], 'prompt_cache_key': 'x',
                'reasoning': {'effort': 'none', 'summary': 'auto'}, 'parallel_tool_calls': False,
                'tools': [{'type': 'custom', 'name': 'apply_patch', 'format': {'type': 'grammar'}},
                          {'type': 'web_search'}, {'type': 'local_shell'}],
                'input': [{'type': 'message', 'role': 'developer', 'content': [
                              {'type': 'input_text', 'text': 'Be short.'}]},
                          {'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'List.'}]},
                          {'type': 'reasoning', 'summary': [], 'content': None, 'encrypted_content': 'abc'},
                          {'type': 'function_call', 'call_id': 'c1', 'name': 'shell', 'arguments': '{"a":1}'},
                          {'type': 'function_call_output', 'call_id': 'c1', 'output': 'README.md'},
                          {'type': 'custom_tool_call', 'call_id': 'c2', 'name': 'apply_patch', 'input': 'x'},
                          {'type': 'tool_search_call', 'id': 'x'},
                          {'type': 'function_call_output', 'call_id': 'c3',
                           'output': [{'type': 'input_text', 'text': 'done'}]},
                          {'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'Go on.'}]}]}
        with self.server.request('/v1/responses', body) as answer:
            events = [json.loads(line[6:]) for line in answer.read().decode().split('\n') if line.startswith('data: ')]
        self.assertIn(events[-1]['type'], ('response.completed', 'response.incomplete'))
        log = self.server.call('/sundog/v1/log')
        self.assertTrue(any('web_search' in line['text'] for line in log['lines']))

    def test_errors(self):
        for options, param in [({'input': []}, 'messages'), ({'input': 5}, 'input'), ({'background': True}, 'background'),
                               ({'input': 'word ' * 20000}, 'messages'), ({'max_output_tokens': 0}, 'max_output_tokens')]:
            with self.assertRaises(openai.BadRequestError) as caught:
                self.ask('Hello', **options)
            self.assertEqual(caught.exception.param, param)


if __name__ == '__main__':
    unittest.main(verbosity=2)
