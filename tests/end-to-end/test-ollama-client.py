#!/usr/bin/env python3
"""The `ollama` Python package against a running server with the starter model in its library."""

import json
import time
import unittest
import urllib.error

from running_server import NAME, RunningServer, need

ollama = need('ollama')
GREEDY = {'temperature': 0, 'num_predict': 24}


class OllamaClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer(fixed=False)
        cls.client = ollama.Client(host=cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def chat(self, text, **options):
        return self.client.chat(model=NAME, messages=[{'role': 'user', 'content': text}],
                                **{'options': GREEDY, **options})

    def test_chat(self):
        answer = self.chat('Name the capital of Germany.')
        self.assertEqual(answer.message.role, 'assistant')
        self.assertIn('Berlin', answer.message.content)
        self.assertTrue(answer.done)
        self.assertIn(answer.done_reason, ('stop', 'length'))
        self.assertGreater(answer.eval_count, 0)
        self.assertGreater(answer.prompt_eval_count, 0)
        self.assertGreaterEqual(answer.total_duration, answer.eval_duration)

    def test_stream_equals_plain(self):
        plain = self.chat('Name three colours.')
        parts = list(self.chat('Name three colours.', stream=True))
        self.assertEqual(''.join(part.message.content for part in parts), plain.message.content)
        self.assertEqual([part.done for part in parts], [False] * (len(parts) - 1) + [True])
        self.assertEqual(parts[-1].eval_count, plain.eval_count)

    def test_lines(self):
        body = {'model': NAME + ':latest', 'messages': [{'role': 'user', 'content': 'Hi'}], 'options': GREEDY}
        with self.server.request('/api/chat', body) as answer:  # a stream unless told otherwise
            self.assertEqual(answer.headers['Content-Type'], 'application/x-ndjson')
            lines = [json.loads(line) for line in answer]
        self.assertTrue(all(line['model'] == NAME and line['created_at'] for line in lines))

    def test_generate(self):
        system = self.client.generate(model=NAME, prompt='Who are you?', system='You are a lamp.', options=GREEDY)
        self.assertTrue(system.response)
        raw = self.client.generate(model=NAME, prompt='One, two, three,', raw=True, options=GREEDY)
        self.assertIn('four', raw.response)
        parts = list(self.client.generate(model=NAME, prompt='One, two, three,', raw=True, options=GREEDY, stream=True))
        self.assertEqual(''.join(part.response for part in parts), raw.response)
        cut = self.client.generate(model=NAME, prompt='One, two, three,', raw=True,
                                   options={**GREEDY, 'stop': [' five']})
        self.assertEqual(cut.response, raw.response[:raw.response.index(' five')])

    def test_format(self):
        schema = {'type': 'object', 'properties': {'age': {'type': 'integer', 'minimum': 0, 'maximum': 130}},
                  'required': ['age'], 'additionalProperties': False}
        answer = self.chat('How old was Ada?', format=schema, options={**GREEDY, 'num_predict': 100})
        self.assertEqual(list(json.loads(answer.message.content)), ['age'])

    def test_tools(self):
        weather = {'type': 'function', 'function': {
            'name': 'get_weather', 'description': 'Tells the weather of a city.', 'parameters': {
                'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']}}}
        first = self.chat('How is the weather in Paris?', tools=[weather])
        self.assertTrue(first.message.content or first.message.tool_calls)
        told = self.client.chat(model=NAME, options=GREEDY, tools=[weather], messages=[
            {'role': 'user', 'content': 'How is the weather in Paris?'},
            {'role': 'assistant', 'content': '', 'tool_calls': [
                {'function': {'name': 'get_weather', 'arguments': {'city': 'Paris'}}}]},
            {'role': 'tool', 'tool_name': 'get_weather', 'content': 'Rain.'}])
        self.assertTrue(told.message.content or told.message.tool_calls)

    def test_answer_goes_on(self):
        whole = self.chat('Name the capital of Germany.').message.content
        beginning = ' '.join(whole.split(' ')[:3])
        rest = self.client.chat(model=NAME, options=GREEDY, messages=[
            {'role': 'user', 'content': 'Name the capital of Germany.'},
            {'role': 'assistant', 'content': beginning}])
        self.assertEqual(beginning + rest.message.content, whole)

    def test_loading_and_unloading(self):
        self.assertEqual(self.client.generate(model=NAME, keep_alive=-1).done_reason, 'load')
        loaded = self.client.ps().models
        self.assertEqual([model.model for model in loaded], [NAME])
        self.assertGreater(loaded[0].context_length, 0)
        self.assertEqual(self.client.generate(model=NAME, keep_alive=0).done_reason, 'unload')
        self.assertEqual(self.client.ps().models, [])
        self.chat('Hello', keep_alive='1h')
        self.assertLess(self.client.ps().models[0].expires_at.timestamp(), time.time() + 3700)
        self.chat('Hello', keep_alive=0)
        while self.client.ps().models:
            time.sleep(0.05)
        self.assertTrue(self.chat('Hello').message.content)

    def test_models(self):
        listed = {model.model: model for model in self.client.list().models}
        self.assertGreater(listed[NAME].size, 1e7)
        self.assertEqual(listed[NAME].details.family, 'llama')
        shown = self.client.show(NAME)
        self.assertLessEqual({'completion', 'tools'}, set(shown.capabilities))
        self.assertIn('messages', shown.template)
        self.assertEqual(shown.modelinfo['general.architecture'], 'llama')
        self.assertGreater(shown.modelinfo['llama.context_length'], 0)

    def test_copy_and_delete(self):
        self.assertEqual(self.client.copy(NAME, 'second').status, 'success')
        answer = self.client.generate(model='second', prompt='One, two, three,', raw=True, options=GREEDY)
        self.assertIn('four', answer.response)
        with self.assertRaises(ollama.ResponseError):
            self.client.copy(NAME, 'second')
        self.assertEqual(self.client.delete('second').status, 'success')
        self.assertNotIn('second', [model.model for model in self.client.list().models])
        self.assertTrue(self.chat('Hello').message.content)

    def test_pull_of_nothing(self):
        with self.assertRaises(ollama.ResponseError):
            self.client.pull('no-such-model')
        with self.assertRaises(ollama.ResponseError):
            list(self.client.pull('no-such-model', stream=True))

    def test_errors(self):
        for call, status in [(lambda: self.client.show('none'), 404),
                             (lambda: self.client.generate(model='none', prompt='x'), 404),
                             (lambda: self.client.delete('none'), 404),
                             (lambda: self.chat('word ' * 20000), 400),
                             (lambda: self.chat('Hi', options={'temperature': -1}), 400),
                             (lambda: self.client.embed(model=NAME, input='x'), 400)]:
            with self.assertRaises(ollama.ResponseError) as caught:
                call()
            self.assertEqual(caught.exception.status_code, status)
            self.assertTrue(caught.exception.error)

    def test_what_clients_look_for_first(self):
        with self.server.request('/', method='HEAD') as answer:
            self.assertEqual(answer.status, 200)
        self.assertRegex(self.server.call('/api/version')['version'], r'^\d+\.\d+\.\d+$')
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.server.call('/api/chat', {'model': NAME, 'keep_alive': 'soon'})
        self.assertIn('keep_alive', json.load(caught.exception)['error'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
