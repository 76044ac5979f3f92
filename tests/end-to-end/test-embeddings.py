#!/usr/bin/env python3
"""Vectors and scores of tiny models by real clients, against the numbers that transformers gave."""

import base64
import json
import math
import os
import struct
import unittest
import urllib.error

from running_server import RunningServer, need

openai = need('openai', starter=False)
ollama = need('ollama', starter=False)
FIXTURES = os.path.join(os.environ['SUNDOG_SOURCE'], 'tests', 'prepare', 'pooled')
VECTORS = 'qwen3-embedding'
SCORES = 'hf-bert-scores'
PROMPTED = 'hf-modern-bert'


def texts_of(name):
    with open(os.path.join(FIXTURES, name + '.json'), encoding='utf-8') as file:
        return json.load(file)['texts']


def unit(values):
    length = math.sqrt(sum(v * v for v in values))
    return [v / length for v in values]


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer(fixed=False, models={VECTORS: os.path.join(FIXTURES, VECTORS + '.gguf'),
                                                        SCORES: os.path.join(FIXTURES, SCORES),
                                                        PROMPTED: os.path.join(FIXTURES, PROMPTED)})
        cls.client = openai.OpenAI(base_url=cls.server.url + '/v1', api_key='any', max_retries=0)
        cls.ollama = ollama.Client(host=cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def assert_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def fails(self, path, body):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.server.call(path, body)
        with caught.exception as answer:
            return answer.code, json.loads(answer.read())['error']

    def test_tokens_as_transformers(self):
        texts = texts_of(VECTORS)
        for kind in (openai.NOT_GIVEN, 'float'):  # the client's own choice is base64
            answer = self.client.embeddings.create(model=VECTORS, input=[t['tokens'] for t in texts],
                                                   encoding_format=kind)
            self.assertEqual([d.index for d in answer.data], list(range(len(texts))))
            for data, text in zip(answer.data, texts):
                self.assert_close(data.embedding, unit(text['result']))
            self.assertEqual(answer.usage.prompt_tokens, sum(len(t['tokens']) for t in texts))

    def test_forms_of_input(self):
        one = self.client.embeddings.create(model=VECTORS, input='ABC').data[0].embedding
        several = self.client.embeddings.create(model=VECTORS, input=['D', 'ABC']).data
        self.assertEqual(several[1].embedding, one)
        self.assertAlmostEqual(sum(v * v for v in one), 1, delta=1e-5)
        short = self.client.embeddings.create(model=VECTORS, input='ABC', dimensions=5).data[0].embedding
        self.assert_close(short, unit(one[:5]))
        raw = self.server.call('/v1/embeddings', {'model': VECTORS, 'input': 'ABC', 'encoding_format': 'base64'})
        words = base64.b64decode(raw['data'][0]['embedding'])
        self.assert_close(list(struct.unpack(f'<{len(words) // 4}f', words)), one)

    def test_prompts(self):
        def embed(text, **fields):
            return self.client.embeddings.create(model=PROMPTED, input=text, extra_body=fields).data[0].embedding

        plain = embed('XY', prompt_name='document')  # which is empty
        self.assertEqual(embed('Y', prompt_name='query'), embed('ABY', prompt_name='document'))
        self.assertEqual(embed('XY'), embed('CXY', prompt_name='document'))  # the usual one
        self.assertNotEqual(embed('XY'), plain)
        code, error = self.fails('/v1/embeddings', {'model': PROMPTED, 'input': 'A', 'prompt_name': 'none'})
        self.assertEqual((code, error['param']), (400, 'prompt_name'))
        self.assertIn('query', error['message'])

    def test_ollama(self):
        one = self.client.embeddings.create(model=VECTORS, input='ABC').data[0].embedding
        answer = self.ollama.embed(model=VECTORS, input=['ABC', 'A' * 500])  # which is cut
        self.assert_close(list(answer.embeddings[0]), one)
        self.assertEqual(answer.prompt_eval_count, 3 + 128)
        self.assert_close(list(self.ollama.embeddings(model=VECTORS, prompt='ABC').embedding), one)
        self.assertEqual(self.ollama.show(VECTORS).capabilities, ['embedding'])

    def test_rerank(self):
        body = {'model': SCORES, 'query': 'ABC', 'documents': ['DEF', {'text': 'GHIJ'}, 'K'], 'return_documents': True}
        answer = self.server.call('/v1/rerank', body)
        scores = [r['relevance_score'] for r in answer['results']]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 <= s <= 1 for s in scores))
        self.assertEqual({r['index']: r['document']['text'] for r in answer['results']}, {0: 'DEF', 1: 'GHIJ', 2: 'K'})
        best = self.server.call('/rerank', {**body, 'top_n': 1, 'return_documents': False})
        self.assertEqual(best['results'], [{'index': answer['results'][0]['index'], 'relevance_score': scores[0]}])

    def test_refusals(self):
        status, error = self.fails('/v1/embeddings', {'model': VECTORS, 'input': 'A' * 129})
        self.assertEqual((status, error['code'], error['param']), (400, 'context_length_exceeded', 'input'))
        self.assertIn('129 tokens', error['message'])
        self.assertIn('128', error['message'])
        for body in ({'input': []}, {}, {'input': 7}, {'input': ['A', 7]}, {'input': [999]}, {'input': [[]]},
                     {'input': 'A', 'dimensions': 33}, {'input': 'A', 'encoding_format': 'hex'}):
            self.assertEqual(self.fails('/v1/embeddings', {'model': VECTORS, **body})[0], 400, body)
        for body in ({'query': 'A'}, {'documents': ['A']}, {'query': 'A', 'documents': []},
                     {'query': 'A', 'documents': [7]}):
            self.assertEqual(self.fails('/rerank', {'model': SCORES, **body})[0], 400, body)

    def test_purposes(self):
        chat = {'messages': [{'role': 'user', 'content': 'Hi'}]}
        for path, body in (('/v1/chat/completions', {'model': VECTORS, **chat}),
                           ('/v1/completions', {'model': VECTORS, 'prompt': 'Hi'}),
                           ('/v1/embeddings', {'model': SCORES, 'input': 'A'}),
                           ('/rerank', {'model': VECTORS, 'query': 'A', 'documents': ['B']})):
            status, error = self.fails(path, body)
            self.assertEqual((status, error['code']), (400, 'wrong_model_purpose'), path)
        types = {m['id']: m['type'] for m in self.server.call('/api/v0/models')['data']}
        self.assertEqual(types, dict.fromkeys([VECTORS, SCORES, PROMPTED], 'embeddings'))


if __name__ == '__main__':
    unittest.main()
