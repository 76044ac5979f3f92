#!/usr/bin/env python3
"""The `openai` Python package against a running server with the starter model: what a real client does
with plain answers, streams, errors and the raw endpoints, and what it must not see."""

import http.client
import json
import math
import subprocess
import unittest

from running_server import OpenAITest, need

openai = need('openai')


class OpenAIClient(OpenAITest):
    def ask(self, text, **options):
        options = {'model': 'smollm2', 'temperature': 0, 'max_completion_tokens': 24, **options}
        return self.client.chat.completions.create(messages=[{'role': 'user', 'content': text}], **options)

    def test_plain_answer(self):
        answer = self.ask('Name the capital of Germany.')
        self.assertIn('Berlin', answer.choices[0].message.content)
        self.assertIn(answer.choices[0].finish_reason, ('stop', 'length'))
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_stream_equals_plain(self):
        plain = self.ask('Name three colours.').choices[0].message.content
        chunks = list(self.ask('Name three colours.', stream=True))
        self.assertEqual(''.join(c.choices[0].delta.content or '' for c in chunks), plain)
        self.assertEqual(len({c.id for c in chunks}), 1)
        self.assertEqual(chunks[0].choices[0].delta.role, 'assistant')
        reasons = [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason]
        self.assertEqual(len(reasons), 1)

    def test_usage_only_when_asked(self):
        chunks = list(self.ask('Hello', stream=True, stream_options={'include_usage': True}))
        self.assertEqual(chunks[-1].choices, [])
        self.assertGreater(chunks[-1].usage.completion_tokens, 0)
        self.assertTrue(all(c.usage is None for c in self.ask('Hello', stream=True)))

    def test_seed(self):
        """S1, S2: a seed is used, and leaves the temperature as it is."""
        def told(seed):
            return self.ask('Tell me a story.', temperature=1.5, seed=seed).choices[0].message.content
        self.assertEqual(told(1), told(1))
        self.assertGreater(len({told(seed) for seed in range(4)}), 1)

    def test_stop_string(self):
        whole = self.ask('Count from one to ten.', max_completion_tokens=40).choices[0].message.content
        stop = whole[8:14]
        cut = self.ask('Count from one to ten.', max_completion_tokens=40, stop=[stop])
        self.assertEqual(cut.choices[0].message.content, whole[:whole.index(stop)])
        self.assertEqual(cut.choices[0].finish_reason, 'stop')

    def test_length(self):
        answer = self.ask('Tell me a long story.', max_completion_tokens=5)
        self.assertEqual(answer.choices[0].finish_reason, 'length')
        self.assertEqual(answer.usage.completion_tokens, 5)

    def test_prefix_is_reused(self):
        """K4: turn two reads its own tokens alone."""
        messages = [{'role': 'user', 'content': 'Describe a lake in some detail, please. ' * 12}]
        options = {'model': 'smollm2', 'temperature': 0, 'max_completion_tokens': 16}
        first = self.client.chat.completions.create(messages=messages, **options)
        messages += [{'role': 'assistant', 'content': first.choices[0].message.content},
                     {'role': 'user', 'content': 'And now a hill.'}]
        second = self.client.chat.completions.create(messages=messages, **options)
        self.assertGreaterEqual(second.usage.prompt_tokens_details.cached_tokens,
                                first.usage.prompt_tokens - 8)

    def test_leaving_in_prefill_leaves_no_trace(self):
        """H6: what was read before the client left is right for the next, and what was not is not believed."""
        def ask(text, **options):
            return self.ask(text, max_completion_tokens=32, **options).choices[0].message.content
        text = ' '.join(f'Station {i} lies {i * 37 % 101} miles from the sea.' for i in range(110)) + ' How far?'
        body = {'model': 'smollm2', 'messages': [{'role': 'user', 'content': text}], 'stream': True,
                'temperature': 0, 'sundog': {'progress': True}}
        connection = http.client.HTTPConnection('127.0.0.1', self.server.port)
        connection.request('POST', '/v1/chat/completions', json.dumps(body), {'Content-Type': 'application/json'})
        answer = connection.getresponse()
        for line in answer:
            if b'"prefill"' in line:
                break
        self.assertNotIn(b'choices', line)
        answer.close()
        connection.close()
        after = ask(text)
        self.assertEqual(after, ask(text, extra_body={'cache_prompt': False}))

    def test_completions(self):
        answer = self.client.completions.create(model='smollm2', prompt='One, two, three,', max_tokens=8,
                                                temperature=0)
        self.assertIn('four', answer.choices[0].text)
        text = ''.join(c.choices[0].text for c in self.client.completions.create(
            model='smollm2', prompt='One, two, three,', max_tokens=8, temperature=0, stream=True))
        self.assertEqual(text, answer.choices[0].text)

    def test_several_prompts(self):
        """Each is answered as if alone, greedy and drawn, streamed and not."""
        prompts, options = ['One, two, three,', 'The sun is'], {'model': 'smollm2', 'max_tokens': 8, 'seed': 5, 'n': 2}
        for temperature in (0, 1):
            alone = [choice.text for prompt in prompts for choice in self.client.completions.create(
                prompt=prompt, temperature=temperature, **options).choices]
            told = self.client.completions.create(prompt=prompts, temperature=temperature, **options)
            self.assertEqual([choice.text for choice in told.choices], alone)
            self.assertEqual([choice.index for choice in told.choices], [0, 1, 2, 3])
            texts = [''] * 4
            for chunk in self.client.completions.create(prompt=prompts, temperature=temperature, stream=True, **options):
                texts[chunk.choices[0].index] += chunk.choices[0].text
            self.assertEqual(texts, alone)

    def test_logprobs(self):
        asked = {'logprobs': True, 'top_logprobs': 3, 'max_completion_tokens': 12}
        plain = self.ask('Name three colours.', **asked).choices[0]
        told = plain.logprobs.content
        self.assertEqual(b''.join(bytes(t.bytes or []) for t in told).decode(), plain.message.content)
        for token in told:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.top_logprobs[0].token, token.token, 'the choice is greedy')
            self.assertLess(sum(math.exp(t.logprob) for t in token.top_logprobs), 1.0001)
        chunks = self.ask('Name three colours.', stream=True, **asked)
        self.assertEqual([t for c in chunks if c.choices[0].logprobs for t in c.choices[0].logprobs.content], told)

    def test_scores_of_a_prompt_are_those_of_its_answer(self):
        """As lm-evaluation-harness asks; read in chunks or drawn one by one, a token's score is the same."""
        prompt = self.server.call('/tokenize', {'content': 'One, two, three,', 'add_special': True})['tokens']
        drawn = self.server.call('/completion', {'prompt': prompt, 'n_predict': 40, 'n_probs': 2, 'temperature': 0})
        tokens = drawn['completion_probabilities']
        # By number: the text of an answer may be cut into other tokens when it is read.
        scored = self.client.completions.create(model='smollm2', prompt=prompt + [token['id'] for token in tokens],
                                                echo=True, logprobs=2, max_tokens=0).choices[0]
        self.assertEqual(scored.text, 'One, two, three,' + drawn['content'])
        self.assertIsNone(scored.logprobs.token_logprobs[0])
        n = len(tokens)
        self.assertEqual(scored.logprobs.tokens[-n:], [token['token'] for token in tokens])
        self.assertEqual(scored.logprobs.token_logprobs[-n:], [token['logprob'] for token in tokens])
        for rivals, token in zip(scored.logprobs.top_logprobs[-n:], tokens):
            self.assertEqual(rivals, {r['token']: r['logprob'] for r in token['top_logprobs']})

    def test_choices_are_those_of_their_seeds(self):
        def ask(**options):
            return self.ask('Tell me a story.', temperature=1.2, **options)
        several = ask(n=4, seed=20)
        texts = [choice.message.content for choice in several.choices]
        self.assertEqual([choice.index for choice in several.choices], [0, 1, 2, 3])
        self.assertEqual(texts, [ask(seed=20 + i).choices[0].message.content for i in range(4)])
        self.assertGreater(len(set(texts)), 1)
        streamed = [''] * 4
        for chunk in ask(n=4, seed=20, stream=True):
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ''
        self.assertEqual(streamed, texts)

    def test_dry_ends_a_loop(self):
        options = {'model': 'smollm2', 'prompt': 'a b c a b c a b c a b', 'max_tokens': 12, 'temperature': 0}
        self.assertIn('c c c c', self.client.completions.create(**options).choices[0].text)
        dry = {'dry_multiplier': 4, 'dry_allowed_length': 1}
        self.assertNotIn('c c c c', self.client.completions.create(**options, extra_body=dry).choices[0].text)

    def test_models(self):
        self.assertGreaterEqual(len(self.client.models.list().data), 1)

    def test_errors_are_named(self):
        for options, param in [({'n': 17}, 'n'), ({'top_logprobs': 3}, 'top_logprobs'),
                               ({'audio': {'voice': 'alloy', 'format': 'wav'}}, 'audio')]:
            with self.assertRaises(openai.BadRequestError) as caught:
                self.ask('Hello', **options)
            self.assertEqual(caught.exception.param, param)

    def test_prompt_too_long(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask('word ' * 20000)
        self.assertEqual(caught.exception.code, 'context_length_exceeded')

    def test_killed_engine_is_not_noticed(self):
        undisturbed = self.ask('Tell me about the sea.', max_completion_tokens=200).choices[0].message.content
        text = ''
        killed = False
        for chunk in self.ask('Tell me about the sea.', max_completion_tokens=200, stream=True):
            text += chunk.choices[0].delta.content or ''
            if not killed and len(text) > 80:
                subprocess.run(['pkill', '-9', '-P', str(self.server.process.pid), 'sundog-engine'], check=True)
                killed = True
        self.assertTrue(killed)
        self.assertEqual(text, undisturbed)

    def test_tokenize_round_trip(self):
        text = 'Grüße aus 北京 <|im_end|>'
        tokens = self.server.call('/tokenize', {'content': text})['tokens']
        self.assertEqual(self.server.call('/detokenize', {'tokens': tokens})['content'], text)
        prompt = self.server.call('/apply-template', {'messages': [{'role': 'user', 'content': 'Hi'}]})['prompt']
        self.assertIn('<|im_start|>user\nHi<|im_end|>', prompt)


if __name__ == '__main__':
    unittest.main(verbosity=2)
