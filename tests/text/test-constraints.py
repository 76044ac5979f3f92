#!/usr/bin/env python3
"""Holds constraints to judges that know nothing of them: every random answer under a schema's masks is
valid to Python's jsonschema, under an expression's matches Python's re, and schemas that cannot be held
are refused by the keyword's name.

    tests/text/test-constraints.py WALKER [SEED [N_SCHEMAS]]

WALKER is the built constraint-walker. Skips (77) where jsonschema is not there."""

import decimal
import json
import os
import random
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print('1..0 # SKIP jsonschema is not installed (python3-jsonschema)')
    sys.exit(77)

from public_schemas import PUBLIC

CACHE = os.environ.get('SUNDOG_TEST_CACHE', os.path.expanduser('~/.cache/sundog-tests'))

STRING = {'type': 'string'}
INTEGER = {'type': 'integer'}

# Written as people write them: tools, records, unions, references, trees.
SCHEMAS = [
    True, {}, {'type': 'object'}, {'type': 'array'}, {'type': ['string', 'null']},
    {'type': 'object', 'properties': {}}, {'type': 'object', 'properties': {}, 'additionalProperties': False},
    {'const': 'x'}, {'const': {'a': [1, None]}}, {'enum': [1, 1.5, 'two', None, True, [], {'k': 'v'}]},
    {'type': 'string', 'enum': ['a', 'ab', 'abc', 5]},
    {'type': 'object', 'properties': {'location': STRING, 'unit': {'enum': ['celsius', 'fahrenheit']}},
     'required': ['location']},
    {'type': 'object', 'properties': {'a': STRING, 'b': INTEGER, 'c': {'type': 'boolean'}}, 'required': ['b']},
    {'type': 'object', 'properties': {'a': STRING, 'b': INTEGER}, 'additionalProperties': INTEGER},
    {'type': 'object', 'properties': {'a': INTEGER, 'ab': INTEGER, 'é': INTEGER, 'q"\\': INTEGER},
     'additionalProperties': STRING},
    {'type': 'object', 'required': ['x'], 'properties': {'y': STRING}},
    {'type': 'object', 'additionalProperties': {'type': 'array', 'items': INTEGER}},
    {'type': 'object', 'additionalProperties': INTEGER, 'minProperties': 1, 'maxProperties': 3},
    {'type': 'object', 'patternProperties': {'^x-[a-z]+$': INTEGER}, 'additionalProperties': False},
    {'type': 'object', 'propertyNames': {'pattern': '^[a-z]{1,3}$'}, 'additionalProperties': STRING},
    {'type': 'object', 'propertyNames': {'enum': ['a', 'b']}},
    {'type': 'array', 'items': INTEGER, 'minItems': 2, 'maxItems': 5},
    {'type': 'array', 'items': INTEGER, 'minItems': 3}, {'type': 'array', 'maxItems': 0},
    {'type': 'array', 'prefixItems': [STRING, INTEGER], 'items': {'type': 'boolean'}},
    {'type': 'array', 'prefixItems': [STRING, INTEGER], 'items': False, 'minItems': 1},
    {'type': 'array', 'prefixItems': [STRING, INTEGER, STRING], 'maxItems': 2},
    {'type': 'array', 'items': {'type': 'array', 'items': {'type': 'number'}, 'minItems': 1}},
    {'type': 'string', 'minLength': 3, 'maxLength': 5}, {'type': 'string', 'maxLength': 0},
    {'type': 'string', 'minLength': 2}, {'type': 'string', 'maxLength': 300},
    {'type': 'string', 'pattern': '^[A-Z]{2}[0-9]+$'}, {'type': 'string', 'pattern': '^ab+c'},
    {'type': 'string', 'pattern': '^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$'},
    {'type': 'string', 'pattern': '^["\\\\\\n\\t]{1,4}$'}, {'type': 'string', 'pattern': '^a|^b$'},
    {'type': 'string', 'pattern': '^[^a-z]*$'}, {'type': 'string', 'pattern': '^[a-c]{2,4}$', 'maxLength': 4},
    {'type': 'string', 'format': 'date'}, {'type': 'string', 'format': 'date-time'},
    {'type': 'string', 'format': 'time'}, {'type': 'string', 'format': 'uuid'},
    {'type': 'string', 'format': 'email'}, {'type': 'string', 'format': 'ipv4'},
    {'type': 'string', 'format': 'ipv6'}, {'type': 'string', 'format': 'hostname'},
    {'type': 'string', 'format': 'uri'}, {'type': 'string', 'format': 'made-up'},
    {'type': 'integer', 'minimum': 0}, {'type': 'integer', 'minimum': 17, 'maximum': 4711},
    {'type': 'integer', 'exclusiveMinimum': -5, 'exclusiveMaximum': 5}, {'type': 'integer', 'maximum': -3},
    {'type': 'integer', 'minimum': 7, 'maximum': 7}, {'type': 'integer', 'minimum': 0.5, 'maximum': 99.5},
    {'type': 'number', 'minimum': 0}, {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1},
    {'type': 'number', 'minimum': -1.25, 'maximum': 3.375}, {'type': 'number', 'exclusiveMaximum': -0.5},
    {'type': 'number', 'minimum': 99.9, 'maximum': 100.1}, {'type': 'number', 'exclusiveMinimum': 2.5},
    {'type': 'number', 'multipleOf': 1}, {'minimum': 3}, {'type': ['number', 'null'], 'minimum': 3},
    {'anyOf': [STRING, INTEGER, {'type': 'null'}]},
    {'anyOf': [{'type': 'object', 'properties': {'a': STRING}, 'required': ['a']}, {'type': 'array'}]},
    {'type': 'object', 'properties': {'k': STRING}, 'required': ['k'],
     'anyOf': [{'properties': {'a': INTEGER}, 'required': ['a']}, {'properties': {'b': STRING}}]},
    {'oneOf': [{'type': 'object', 'properties': {'kind': {'const': 'cat'}, 'lives': INTEGER}, 'required': ['kind']},
               {'type': 'object', 'properties': {'kind': {'const': 'dog'}, 'name': STRING}, 'required': ['kind']}]},
    {'oneOf': [{'type': 'string'}, {'type': 'number'}, {'type': 'null'}]},
    {'allOf': [{'type': 'object', 'properties': {'a': STRING}, 'required': ['a']},
               {'properties': {'b': INTEGER, 'a': {'maxLength': 3}}, 'required': ['b']}]},
    {'allOf': [{'type': 'integer', 'minimum': 3}, {'maximum': 9}]},
    {'type': 'object', 'properties': {'child': {'$ref': '#'}, 'value': INTEGER}, 'required': ['value']},
    {'$ref': '#/$defs/node', '$defs': {'node': {
        'type': 'object', 'properties': {'name': STRING, 'kids': {'type': 'array', 'items': {'$ref': '#/$defs/node'}}},
        'required': ['name', 'kids'], 'additionalProperties': False}}},
    {'definitions': {'a b/c~d': INTEGER}, '$ref': '#/definitions/a%20b~1c~0d'},
    {'anyOf': [INTEGER, {'type': 'array', 'items': {'$ref': '#/anyOf/0'}}]},
    {'$ref': '#/$defs/x', 'description': 'more', '$defs': {'x': STRING}},
    {'$defs': {'x': {'type': 'string'}}, 'properties': {'p': {'$ref': '#/$defs/x', 'maxLength': 2}}, 'type': 'object'},
    {'type': 'object', 'properties': {'a': {'not': {}}}}, {'not': {'type': ['string', 'array', 'object']}},
    {'not': {'anyOf': [STRING, {'type': 'number'}, {'required': ['a']}]}}, {'type': 'string', 'not': {'minLength': 4}},
    {'type': 'string', 'not': {'const': 'ab'}, 'maxLength': 3}, {'enum': [1, 'a', None], 'not': {'enum': [1, 2]}},
    {'type': 'number', 'not': {'maximum': 3}}, {'type': 'boolean', 'not': {'const': True}},
    {'type': 'object', 'properties': {'a': INTEGER, 'b': INTEGER}, 'not': {'required': ['a', 'b']}},
    {'oneOf': [STRING, {'type': ['string', 'null']}]}, {'oneOf': [INTEGER, {'type': 'number', 'minimum': 5}]},
    {'anyOf': [False, {'type': 'string', 'enum': [1]}, INTEGER]},
    {'type': 'object', 'properties': {'a': STRING}, 'patternProperties': {'b': STRING}},
    {'type': 'object', 'properties': {'ab': {'type': 'string'}}, 'patternProperties': {'^a': {'maxLength': 2}, 'b$': {
        'minLength': 1}}, 'required': ['ab', 'xb']},
    {'type': 'object', 'patternProperties': {'^a': INTEGER, '^b': STRING}, 'additionalProperties': {'type': 'null'}},
    {'type': 'object', 'properties': {'a': INTEGER, 'zz': STRING}, 'propertyNames': {'maxLength': 1}},
    {'type': 'object', 'properties': {'a': INTEGER, 'b': INTEGER}, 'required': ['a'], 'minProperties': 3,
     'additionalProperties': STRING},
    {'type': 'object', 'properties': {'a': INTEGER, 'b': INTEGER, 'c': INTEGER}, 'minProperties': 2, 'maxProperties': 2},
    {'dependentRequired': {'a': ['b']}}, {'dependentSchemas': {'a': {'properties': {'b': INTEGER}, 'required': ['b']}}},
    {'type': 'object', 'properties': {'a': INTEGER}, 'dependencies': {'a': {'required': ['c']}, 'c': ['d']}},
    {'type': 'string', 'pattern': '^a+$', 'maxLength': 3}, {'type': 'string', 'format': 'date', 'pattern': '^19'},
    {'allOf': [{'type': 'string', 'format': 'hostname'}, {'format': 'ipv4'}]}, {'enum': ['a', 'bcd', 5, 50], 'minLength': 2, 'maximum': 9},
    {'allOf': [{'multipleOf': 0.5}, {'multipleOf': 0.2, 'minimum': 0}], 'type': 'number'},
    {'type': 'number', 'multipleOf': 0.5}, {'type': 'number', 'multipleOf': 0.01, 'maximum': 2.5},
    {'type': 'integer', 'multipleOf': 2.5, 'minimum': -20}, {'type': 'integer', 'multipleOf': 12},
    {'allOf': [{'multipleOf': 4}, {'type': 'integer', 'multipleOf': 6, 'minimum': 0, 'maximum': 99}]},
    {'type': 'array', 'items': {'type': ['integer', 'string']}, 'contains': STRING, 'maxItems': 3},
    {'type': 'array', 'prefixItems': [STRING, INTEGER], 'contains': {'minimum': 3}, 'items': INTEGER, 'minItems': 1},
    {'type': 'array', 'items': {'type': ['integer', 'string']}, 'contains': STRING, 'maxContains': 2},
    {'type': 'array', 'items': {'type': ['integer', 'boolean']}, 'contains': INTEGER, 'minContains': 2, 'maxContains': 3,
     'maxItems': 6}, {'type': 'array', 'items': {'enum': [1, 'a', 'b']}, 'contains': STRING, 'minContains': 0, 'maxContains': 0},
    {'type': 'array', 'prefixItems': [STRING], 'items': {'enum': ['x', 5]}, 'contains': {'const': 5}, 'maxContains': 1, 'minItems': 3},
    {'type': 'array', 'items': {'type': 'integer', 'minimum': 1, 'exclusiveMaximum': 7, 'multipleOf': 2}, 'uniqueItems': True},
    {'type': 'array', 'items': {'type': 'integer', 'minimum': -2.5, 'maximum': 40}, 'uniqueItems': True, 'minItems': 3},
    {'type': 'array', 'items': {'enum': ['a', 'b', 'c']}, 'uniqueItems': True, 'minItems': 2},
    {'type': 'array', 'items': {'enum': list(range(12))}, 'uniqueItems': True, 'minItems': 1, 'maxItems': 4},
    {'type': 'array', 'items': {'type': 'boolean'}, 'uniqueItems': True}, {'maxItems': 1, 'uniqueItems': True},
    {'allOf': [{'type': 'object', 'additionalProperties': INTEGER, 'properties': {'s': STRING}},
               {'properties': {'t': {}, 's': {}}, 'required': ['t', 's']}]},
    {'allOf': [{'anyOf': [{'required': ['a']}, {'required': ['b']}]}, {'anyOf': [{'required': ['c']}, {'required': ['d']}]}],
     'type': 'object', 'properties': {key: INTEGER for key in 'abcd'}},
    {'type': 'object', 'title': 'T', 'description': 'D', 'examples': [1], 'default': {}, '$schema': 'https://x',
     'properties': {'deprecated': {'type': 'string', 'deprecated': True, 'x-own': 3}}},
]

# What is refused, and the keyword that the refusal names.
REFUSED = [
    ({'not': {}}, 'not'), ({'type': 'array', 'uniqueItems': True}, 'uniqueItems'), ({'not': {'oneOf': [STRING]}}, 'not'),
    ({'type': 'integer', 'not': {'const': 5}}, 'not'), ({'type': 'array', 'contains': {'oneOf': [STRING]}, 'maxContains': 2}, 'not'),
    ({'type': 'array', 'items': {'type': 'integer', 'minimum': 0}, 'uniqueItems': True}, 'uniqueItems'),
    ({'type': 'array', 'contains': STRING, 'minContains': 3, 'maxContains': 2}, 'minContains'),
    ({'type': 'number', 'multipleOf': 0}, 'multipleOf'), ({'type': 'integer', 'multipleOf': 1009}, 'multipleOf'),
    ({'type': 'object', 'required': ['a'], 'dependentRequired': {'a': ['b']}, 'properties': {'b': False}}, '#/properties/b'),
    ({'type': 'string', 'pattern': '(?=a)b'}, 'pattern'), ({'type': 'string', 'pattern': '[z-a]'}, 'pattern'),
    ({'type': 'string', 'pattern': '(a)\\1'}, 'pattern'), ({'type': 'string', 'pattern': '\\bx'}, 'pattern'),
    ({'type': 'string', 'pattern': 'a**'}, 'pattern'), ({'type': 'string', 'pattern': '(a'}, 'pattern'),
    ({'type': 'strin'}, 'type'), ({'type': 3}, 'type'),
    ({'type': 'object', 'patternProperties': {'(?=a)': STRING}}, 'patternProperties'),
    ({'$ref': '#/nowhere'}, '$ref'),
    ({'$ref': 'http://example.com/x'}, '$ref'), ({'allOf': [{'type': 'string'}, {'type': 'integer'}]}, 'type'),
    ({'type': 'object', 'required': ['a'], 'additionalProperties': False}, 'required'),
    ({'type': 'integer', 'minimum': 5, 'maximum': 4}, 'minimum'), ({'enum': []}, 'enum'), ({'anyOf': []}, 'anyOf'),
    ({'type': 'object', 'required': ['a'], 'properties': {'a': {'not': {}}}}, '#/properties/a'), (False, 'false'), (3, 'object'),
    ({'type': 'object', 'minProperties': 5}, 'minProperties'), ({'type': 'string', 'minLength': 5, 'maxLength': 4}, 'minLength'),
    ({'$ref': '#'}, 'finite'), ({'allOf': [{'$ref': '#'}]}, 'without end'),
    ({'type': 'object', 'properties': {'a': {'$ref': '#'}}, 'required': ['a']}, 'finite'),
    ({'type': 'array', 'minItems': 2, 'maxItems': 1}, 'minItems'), ({'dependentRequired': []}, 'dependentRequired'),
    ({'type': 'array', 'unevaluatedItems': False}, 'unevaluatedItems'),
    ({'type': 'string', 'pattern': '(' * 300 + 'a' + ')' * 300}, 'pattern'),
]

EXPRESSIONS = [
    r'abc', r'(a|b)+c?', r'[a-z]{3,7}\d*', r'\w+@\w+\.(com|org)', r'[^\s"]{1,4}', r'(?:x{2}){1,3}y', r'^start.*$',
    r'(?P<y>\d{4})-(?P<m>0[1-9]|1[0-2])', r'\u00e9\x41[\u4e00-\u9fff]', r'a{0,3}b{2,}', r'', r'(|a)b', r'[\d\-x]+', r'\.\*\[\]',
    r'(a+|b)*c', r'[ab]{20}', r'.{5}', r'\S\W\D',
]

GRAMMARS = [
    ('root ::= "a" b* | "c"\nb ::= [0-9] | "-" # digits\n', r'a[0-9-]*|c'),
    ('root ::= item ("," item){2,3}\nitem ::= [a-z]+ "\\n"?\n', r'[a-z]+\n?(,[a-z]+\n?){2,3}'),
    ('root ::=\n  "x" |\n  "y" | ("z"\n "w")?\n', r'x|y|(zw)?'),
    ('root ::= [^a-zA-Z\\n]{2} "\\x41\\u00e9"', r'[^a-zA-Z\n]{2}Aé'),
]
BAD_GRAMMARS = [
    ('root ::= root "a" | "b"', 'itself'), ('root ::= x', '“x”'), ('root = "a"', '::='), ('root ::= "a', 'closed'),
    ('root ::= "a" root', 'finite'), ('x ::= "a"', 'root'), ('root ::= <tok>', 'tokens'), ('root ::= ("a"?){3}', 'empty'),
    ('root ::= "a"\nroot ::= "b"', 'twice'), ('root ::= ' + '(' * 300, 'deep'), ('root ::= [b-a]', 'backwards'),
]


def random_schema(rand, depth):
    """Any schema of the supported keywords, more simple ones the deeper it stands."""
    kinds = ['string', 'integer', 'number', 'boolean', 'null', 'enum', 'format', 'multiple']
    kind = rand.choice(kinds if depth <= 0 else kinds + ['object', 'array', 'anyOf', 'map', 'tuple', 'choice'] * 2)
    low = rand.randint(-50, 50)
    if kind == 'string':
        least = rand.randint(0, 4)
        return rand.choice([STRING, {'type': 'string', 'minLength': least, 'maxLength': least + rand.randint(0, 200)},
                            {'type': 'string', 'pattern': rand.choice(['^[a-f0-9]{2,9}$', '[xyz]', '^\\d+(\\.\\d+)?$'])}])
    if kind == 'integer':
        return rand.choice([INTEGER, {'type': 'integer', 'minimum': low}, {'type': 'integer', 'maximum': low},
                            {'type': 'integer', 'minimum': low, 'exclusiveMaximum': low + rand.randint(1, 5000)}])
    if kind == 'number':
        bound = low / rand.choice([1, 2, 8, 10])
        return rand.choice([{'type': 'number'}, {'type': 'number', 'minimum': bound},
                            {'type': 'number', 'exclusiveMinimum': bound, 'maximum': bound + rand.randint(1, 90)}])
    if kind == 'enum':
        return {'enum': rand.sample(['red', 'green', 'blue', 1, 2.5, None, False, 'ré"d\\', [1, 2]], rand.randint(1, 5))}
    if kind == 'format':
        return {'type': 'string', 'format': rand.choice(['date', 'date-time', 'uuid', 'ipv4', 'unknown'])}
    if kind == 'array':
        least = rand.randint(0, 3)
        return {'type': 'array', 'items': random_schema(rand, depth - 1), 'minItems': least,
                'maxItems': least + rand.randint(0, 30)}
    if kind == 'tuple':
        return {'type': 'array', 'prefixItems': [random_schema(rand, depth - 1) for _ in range(rand.randint(1, 3))],
                'items': rand.choice([False, True, INTEGER]), 'minItems': rand.randint(0, 1)}
    if kind == 'anyOf':
        return {'anyOf': [random_schema(rand, depth - 1) for _ in range(rand.randint(1, 3))]}
    if kind == 'multiple':
        return {'type': rand.choice(['integer', 'number']), 'multipleOf': rand.choice([2, 3, 10, 0.1, 0.25, 0.01]),
                'minimum': low, 'maximum': low + rand.randint(10, 900)}
    if kind == 'choice':
        return random_choice(rand, depth)
    if kind == 'map':
        return {'type': 'object', 'additionalProperties': random_schema(rand, depth - 1)}
    if kind == 'object':
        names = rand.sample(['id', 'name', 'naïve', 'a"b', 'value', 'list', 'next', 'n', ''], rand.randint(0, 6))
        schema = {'type': 'object', 'properties': {name: random_schema(rand, depth - 1) for name in names},
                  'required': [name for name in names if rand.random() < 0.5]}
        if rand.random() < 0.6:
            schema['additionalProperties'] = rand.choice([False, True, random_schema(rand, depth - 2)])
        return schema
    return {'type': kind}


def random_choice(rand, depth):
    """An object with conditions that are alternatives."""
    names = rand.sample(['a', 'b', 'ab', 'kind', 'x-1'], 4)
    schema = {'type': 'object', 'properties': {name: random_schema(rand, depth - 2) for name in names}}
    schema['properties'][names[0]] = {'enum': ['u', 'v', 'w']}
    some = {'properties': {names[0]: {'enum': rand.sample(['u', 'v', 'w'], 2)}}}
    if rand.random() < 0.5:
        some['required'] = [names[0]]
    for keyword in rand.sample(['if', 'not', 'dependentRequired', 'oneOf', 'bounds', 'patterns', 'all'], 2):
        if keyword == 'if':
            schema |= {'if': some, 'then': {'required': [names[1]]}, 'else': {'required': [names[2]]}}
        elif keyword == 'not':
            schema['not'] = rand.choice([some, {'required': names[:2]}, {'anyOf': [{'required': [n]} for n in names[:2]]}])
        elif keyword == 'dependentRequired':
            schema['dependentRequired'] = {names[1]: [names[2]], names[3]: names[:2]}
        elif keyword == 'oneOf':
            schema['oneOf'] = [{'required': [names[1]]}, {'required': [names[2]]}, some]
        elif keyword == 'bounds':
            schema |= {'minProperties': rand.randint(0, 2), 'maxProperties': rand.randint(2, 4)}
        elif keyword == 'patterns':
            schema |= {'patternProperties': {'^x-': True, 'b': rand.choice([True, {'type': ['string', 'integer', 'null']}])},
                       'additionalProperties': rand.choice([False, INTEGER])}
        else:
            schema['allOf'] = [{'if': {'required': [names[1]]}, 'then': {'required': [names[0]]}},
                               {'properties': {names[3]: random_schema(rand, 0)}}]
    return schema


class Walker:
    def __init__(self, program, seed, n_walks, *more):
        self.command = [program, str(seed), str(n_walks), *more]

    def walk(self, lines):
        text = ''.join(json.dumps(line, ensure_ascii=False) + '\n' for line in lines)
        done = subprocess.run(self.command, input=text.encode(), stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in done.stdout.decode().split('\n') if line]


def is_multiple(validator, step, value, schema):
    """In decimal, where jsonschema counts in binary, to which 0.07 is no multiple of 0.01."""
    if validator.is_type(value, 'number') and decimal.Decimal(repr(value)) % decimal.Decimal(repr(step)):
        yield jsonschema.ValidationError(f'{value} is no multiple of {step}')


def depends(validator, dependencies, value, schema):
    """Draft 7's name for two keywords."""
    for name, dependent in dependencies.items() if validator.is_type(value, 'object') else ():
        if name in value:
            beside = {'required': dependent} if isinstance(dependent, list) else dependent
            yield from validator.descend(value, beside)


VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator,
                                         {'multipleOf': is_multiple, 'dependencies': depends})


# What is said where random conditions leave no value.
EMPTY = ['is left', 'allows no value', 'is required and not allowed', 'finite', 'members are required', 'so many members']


def fault_of_schema(schema, answer, may_be_empty=False):
    if 'error' in answer:
        return None if may_be_empty and any(word in answer['error'] for word in EMPTY) else f'refused: {answer["error"]}'
    if not answer['texts']:
        return 'no walk ended'
    validator = VALIDATOR(schema)
    for text in answer['texts']:
        try:
            value = json.loads(text)
        except ValueError as error:
            return f'{error}: {text!r}'
        problem = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if problem is not None:
            return f'{problem.message}: {text!r}'
    return None


def fault_of_texts(expression, answer):
    if 'error' in answer:
        return f'refused: {answer["error"]}'
    wrong = [text for text in answer['texts'] if not re.fullmatch(expression, text, re.ASCII)]
    return f'{wrong[0]!r} does not match' if wrong else None if answer['texts'] else 'no walk ended'


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    n_random = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    rand = random.Random(seed)
    schemas = SCHEMAS + PUBLIC + [random_schema(rand, 3) for _ in range(n_random)]
    faults = []
    n_texts = 0

    def judge(what, fault):
        if fault:
            faults.append(f'{json.dumps(what, ensure_ascii=False)[:600]}: {fault}')

    walkers = [Walker(program, seed, 6)]
    model = os.path.join(CACHE, 'smollm2.gguf')
    if os.path.exists(model):
        walkers.append(Walker(program, seed + 1, 2, model))
    for walker in walkers:
        for schema, answer in zip(schemas, walker.walk([{'schema': schema} for schema in schemas])):
            judge(schema, fault_of_schema(schema, answer, schema not in SCHEMAS + PUBLIC))
            n_texts += len(answer.get('texts', []))
    walker = walkers[0]
    for (schema, word), answer in zip(REFUSED, walker.walk([{'schema': schema} for schema, _ in REFUSED])):
        judge(schema, None if word in answer.get('error', '') else f'not refused by {word!r}: {str(answer)[:300]}')
    for expression, answer in zip(EXPRESSIONS, walker.walk([{'pattern': e} for e in EXPRESSIONS])):
        judge(expression, fault_of_texts(expression, answer))
    for (grammar, expression), answer in zip(GRAMMARS, walker.walk([{'gbnf': g} for g, _ in GRAMMARS])):
        judge(grammar, fault_of_texts(expression, answer))
    for (grammar, word), answer in zip(BAD_GRAMMARS, walker.walk([{'gbnf': g} for g, _ in BAD_GRAMMARS])):
        judge(grammar, None if word in answer.get('error', '') else f'not refused by {word!r}: {str(answer)[:300]}')
    words = ['a', 'ab', 'b', 'hello "you"', 'ü']
    judge('choice', fault_of_texts('|'.join(words), walker.walk([{'choice': words}])[0]))
    judge('object', fault_of_schema({'type': 'object'}, walker.walk([{}])[0]))
    for fault in faults:
        print(fault)
    print(f'{len(schemas)} schemas, {n_texts} answers judged, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
