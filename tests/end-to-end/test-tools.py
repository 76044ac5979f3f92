#!/usr/bin/env python3
"""The `openai` Python package with tools and forms of answers against the starter model, whose template
knows no tools: what is enforced holds whatever the model would have liked to say, plain and streamed."""

import json
import subprocess
import unittest

from running_server import OpenAITest, need

openai = need('openai')
jsonschema = need('jsonschema')

WEATHER = {'type': 'function', 'function': {
    'name': 'get_weather', 'description': 'Tells the weather of a city.',
    'parameters': {'type': 'object', 'properties': {
        'city': {'type': 'string', 'maxLength': 30}, 'unit': {'enum': ['celsius', 'fahrenheit']},
        'days': {'type': 'integer', 'minimum': 1, 'maximum': 7}}, 'required': ['city', 'days']}}}
BARE = {'type': 'function', 'function': {'name': 'now'}}
PERSON = {'type': 'object', 'properties': {
    'name': {'type': 'string', 'maxLength': 40}, 'age': {'type': 'integer', 'minimum': 0, 'maximum': 130},
    'tags': {'type': 'array', 'items': {'enum': ['a', 'b', 'c']}, 'maxItems': 2}},
    'required': ['name', 'age', 'tags'], 'additionalProperties': False}


class Tools(OpenAITest):
    def ask(self, text, **options):
        options = {'model': 'smollm2', 'temperature': 0, 'max_completion_tokens': 120, **options}
        messages = text if isinstance(text, list) else [{'role': 'user', 'content': text}]
        return self.client.chat.completions.create(messages=messages, **options)

    def form(self, schema, **more):
        return {'type': 'json_schema', 'json_schema': {'name': 'form', 'schema': schema, **more}}

    def join(self, chunks):
        """Content, reason and calls of a stream, joined as clients do."""
        content, reason, calls = '', None, {}
        for chunk in chunks:
            choice = chunk.choices[0]
            content += choice.delta.content or ''
            self.assertIsNone(reason)
            reason = choice.finish_reason
            for delta in choice.delta.tool_calls or []:
                if delta.index not in calls:
                    self.assertTrue(delta.id and delta.function.name and delta.type == 'function')
                    calls[delta.index] = [delta.function.name, '']
                else:
                    self.assertFalse(delta.id or delta.function.name)
                calls[delta.index][1] += delta.function.arguments or ''
        self.assertEqual(sorted(calls), list(range(len(calls))))
        return content, reason, [calls[i] for i in sorted(calls)]

    def test_schema(self):
        for temperature in (0, 1.2):
            answer = self.ask('Describe Ada Lovelace.', response_format=self.form(PERSON, strict=True),
                              temperature=temperature, seed=3)
            self.assertEqual(answer.choices[0].finish_reason, 'stop')
            jsonschema.validate(json.loads(answer.choices[0].message.content), PERSON)

    def test_stream_equals_plain(self):
        options = {'response_format': self.form(PERSON)}
        plain = self.ask('Describe Grace Hopper.', **options).choices[0]
        content, reason, calls = self.join(self.ask('Describe Grace Hopper.', stream=True, **options))
        self.assertEqual((content, reason, calls), (plain.message.content, plain.finish_reason, []))

    def test_json_object(self):
        answer = self.ask('Give me facts about Berlin as JSON.', response_format={'type': 'json_object'},
                          max_completion_tokens=100)
        if answer.choices[0].finish_reason == 'stop':
            self.assertIsInstance(json.loads(answer.choices[0].message.content), dict)
        else:
            self.assertTrue(answer.choices[0].message.content.startswith('{'))

    def test_grammar_and_json_schema_fields(self):
        answer = self.ask('Is the sea wet?', extra_body={'grammar': 'root ::= "yes" | "no"'})
        self.assertIn(answer.choices[0].message.content, ('yes', 'no'))
        answer = self.ask('Say something.', extra_body={'json_schema': {'enum': ['left', 'right']}})
        self.assertIn(json.loads(answer.choices[0].message.content), ('left', 'right'))
        text = self.client.completions.create(model='smollm2', prompt='The answer is', max_tokens=20,
                                              extra_body={'grammar': 'root ::= " " [0-9]{3}'}).choices[0].text
        self.assertRegex(text, r'^ \d{3}$')

    def test_guided_and_biased(self):
        def ask(**more):
            return self.ask('Say a number.', extra_body=more).choices[0].message.content
        self.assertRegex(ask(guided_regex='[0-9]{2}-[a-f]{1,9}!'), r'^[0-9]{2}-[a-f]{1,9}!$')
        self.assertIn(ask(guided_choice=['one hundred', 'one million']), ('one hundred', 'one million'))
        tokens = self.server.call('/tokenize', {'content': ' sea'})['tokens']
        biased = self.ask('Hello', logit_bias={str(tokens[0]): 100}, max_completion_tokens=4)
        self.assertEqual(biased.choices[0].message.content, ' sea' * 4)

    def test_required_and_named(self):
        for choice, names in [('required', ('get_weather', 'now')),
                              ({'type': 'function', 'function': {'name': 'get_weather'}}, ('get_weather',)),
                              ({'type': 'function', 'function': {'name': 'now'}}, ('now',))]:
            options = {'tools': [WEATHER, BARE, {'type': 'web_search'}], 'tool_choice': choice,
                       'parallel_tool_calls': False}
            answer = self.ask('How is the weather in Paris?', **options).choices[0]
            self.assertEqual(answer.finish_reason, 'tool_calls')
            self.assertIsNone(answer.message.content)
            call, = answer.message.tool_calls
            self.assertIn(call.function.name, names)
            arguments = json.loads(call.function.arguments)
            if call.function.name == 'get_weather':
                jsonschema.validate(arguments, WEATHER['function']['parameters'])
            content, reason, calls = self.join(self.ask('How is the weather in Paris?', stream=True, **options))
            self.assertEqual((content, reason, calls),
                             ('', 'tool_calls', [[call.function.name, call.function.arguments]]))

    def test_stream_helper(self):
        """H23: the package's own reader of streams joins deltas of calls by their index."""
        messages = [{'role': 'user', 'content': 'How is the weather in Paris?'}]
        with self.client.chat.completions.stream(
                model='smollm2', messages=messages, temperature=0, max_completion_tokens=160,
                tools=[{**WEATHER, 'function': {**WEATHER['function'], 'strict': True, 'parameters': {
                    **WEATHER['function']['parameters'], 'required': ['city', 'unit', 'days'],
                    'additionalProperties': False}}}],
                tool_choice='required', parallel_tool_calls=False) as stream:
            kinds = {event.type for event in stream}
            answer = stream.get_final_completion().choices[0]
        call, = answer.message.tool_calls
        self.assertEqual(answer.finish_reason, 'tool_calls')
        self.assertEqual(call.function.name, 'get_weather')
        jsonschema.validate(call.function.parsed_arguments, WEATHER['function']['parameters'])
        self.assertIn('tool_calls.function.arguments.delta', kinds)
        self.assertIn('tool_calls.function.arguments.done', kinds)

    def test_results_go_back(self):
        """What a template knows nothing of is explained to the model, and said in words."""
        messages = [{'role': 'user', 'content': 'Weather in Paris?'},
                    {'role': 'assistant', 'content': None, 'tool_calls': [
                        {'id': 'a1', 'type': 'function',
                         'function': {'name': 'get_weather', 'arguments': '{"city": "Paris", "days": 1}'}}]},
                    {'role': 'tool', 'tool_call_id': 'a1', 'content': '{"sky": "blue"}'}]
        prompt = self.server.call('/apply-template', {'messages': messages, 'tools': [WEATHER, BARE]})['prompt']
        for words in ('"name":"get_weather"', '"name":"now"', '<tool_call>\n{"name":"get_weather"',
                      '<tool_response>\n{"sky": "blue"}\n</tool_response>'):
            self.assertIn(words, prompt)
        answer = self.ask(messages, tools=[WEATHER], tool_choice='none').choices[0]
        self.assertIn(answer.finish_reason, ('stop', 'length'))
        self.assertTrue(answer.message.content)

    def test_refusals_name_the_keyword(self):
        for options, param, word in [
                ({'response_format': self.form({'type': 'string', 'pattern': '(?=a)b'})}, 'response_format', 'pattern'),
                ({'response_format': self.form({'not': {}}, strict=True)}, 'response_format', 'not'),
                ({'tools': [], 'tool_choice': 'required'}, 'tool_choice', 'tools'),
                ({'tools': [BARE], 'tool_choice': {'type': 'function', 'function': {'name': 'f'}}}, 'tools', 'f'),
                ({'extra_body': {'grammar': 'root ::= root'}}, 'grammar', 'finite')]:
            with self.assertRaises(openai.BadRequestError) as caught:
                self.ask('Hello', **options)
            self.assertEqual(caught.exception.param, param)
            self.assertIn(word, str(caught.exception))

    def test_killed_engine_goes_on_in_form(self):
        """A new engine has neither vocabulary nor constraint until it is told."""
        options = {'response_format': self.form(PERSON), 'stream': True}
        undisturbed, _, _ = self.join(self.ask('Describe Emmy Noether.', **options))
        text, killed = '', False
        for chunk in self.ask('Describe Emmy Noether.', **options):
            text += chunk.choices[0].delta.content or ''
            if not killed and len(text) > 5:
                subprocess.run(['pkill', '-9', '-P', str(self.server.process.pid), 'sundog-engine'], check=True)
                killed = True
        self.assertEqual(text, undisturbed)


if __name__ == '__main__':
    unittest.main(verbosity=2)
