#!/usr/bin/env python3
"""The `langchain-openai` package against a running server with the starter model: a chat, a stream, tools
and structured output as programs on LangChain ask for them."""

import asyncio
import unittest

from running_server import RunningServer, need

need('langchain_openai')

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel, Field


class Person(BaseModel):
    """A person."""
    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=130)


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return f'Rain in {city}.'


class LangChainClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer()
        cls.model = cls.make()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    @classmethod
    def make(cls, **options):
        return ChatOpenAI(**{'base_url': cls.server.url + '/v1', 'api_key': 'any', 'model': 'smollm2',
                             'temperature': 0, 'max_tokens': 100, 'max_retries': 0, **options})

    def test_chat(self):
        answer = self.model.invoke([SystemMessage('Answer shortly.'), HumanMessage('Name the capital of Germany.')])
        self.assertIn('Berlin', answer.content)
        self.assertIn(answer.response_metadata['finish_reason'], ('stop', 'length'))
        usage = answer.usage_metadata
        self.assertEqual(usage['total_tokens'], usage['input_tokens'] + usage['output_tokens'])

    def test_stream_equals_plain(self):
        plain = self.model.invoke('Name three colours.')
        whole = None
        for chunk in self.make(stream_usage=True).stream('Name three colours.'):
            whole = chunk if whole is None else whole + chunk
        self.assertEqual(whole.content, plain.content)
        self.assertEqual(whole.usage_metadata['output_tokens'], plain.usage_metadata['output_tokens'])
        self.assertEqual(whole.response_metadata['finish_reason'], plain.response_metadata['finish_reason'])

    def test_tools(self):
        bound = self.model.bind_tools([get_weather], tool_choice='any', parallel_tool_calls=False)
        question = HumanMessage('How is the weather in Paris?')
        answer = bound.invoke([question])
        call, = answer.tool_calls
        self.assertEqual((call['name'], list(call['args'])), ('get_weather', ['city']))
        self.assertEqual(answer.invalid_tool_calls, [])
        whole = None
        for chunk in bound.stream([question]):
            whole = chunk if whole is None else whole + chunk
        self.assertEqual([(c['name'], c['args']) for c in whole.tool_calls], [(call['name'], call['args'])])
        told = self.model.bind_tools([get_weather], tool_choice='none').invoke(
            [question, answer, ToolMessage(get_weather.invoke(call['args']), tool_call_id=call['id'])])
        self.assertIsInstance(told, AIMessage)
        self.assertTrue(told.content)

    def test_structured_output(self):
        for method in ('json_schema', 'function_calling'):
            asked = self.model.with_structured_output(Person, method=method, include_raw=True)
            answer = asked.invoke('Describe Ada Lovelace.')
            self.assertIsNone(answer['parsing_error'], method)
            self.assertIsInstance(answer['parsed'], Person, method)
        loose = self.model.with_structured_output(Person, method='json_schema', strict=False)
        self.assertIsInstance(loose.invoke('Describe Grace Hopper.'), Person)

    def test_several_at_once(self):
        questions = [f'Say the number {i}.' for i in range(4)]
        alone = [self.model.invoke(question).content for question in questions]
        self.assertEqual([answer.content for answer in self.model.batch(questions)], alone)
        self.assertEqual(asyncio.run(self.model.ainvoke(questions[0])).content, alone[0])

    def test_responses_api(self):
        model = self.make(use_responses_api=True)
        answer = model.invoke('Name the capital of Germany.')
        self.assertIn('Berlin', answer.text)
        whole = None
        for chunk in model.stream('Name the capital of Germany.'):
            whole = chunk if whole is None else whole + chunk
        self.assertEqual(whole.text, answer.text)
        call, = model.bind_tools([get_weather], tool_choice='any', parallel_tool_calls=False).invoke(
            'How is the weather in Paris?').tool_calls
        self.assertEqual((call['name'], list(call['args'])), ('get_weather', ['city']))

    def test_completion(self):
        model = OpenAI(base_url=self.server.url + '/v1', api_key='any', model='smollm2', temperature=0, max_tokens=8,
                       max_retries=0)
        self.assertIn('four', model.invoke('One, two, three,'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
