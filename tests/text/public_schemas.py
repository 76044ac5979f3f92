"""Schemas in the style of those that are published: settings of tools, records of shops and offices, maps,
answers of assistants. Each is our own; what they have in common with others is the keywords they use and
how these stand together."""

STRING = {'type': 'string'}
INTEGER = {'type': 'integer'}
NAME = {'type': 'string', 'pattern': '^[a-z][a-z0-9-]*$', 'minLength': 2, 'maxLength': 40}
MONEY = {'type': 'number', 'minimum': 0, 'multipleOf': 0.01}
POSITION = {'type': 'array', 'prefixItems': [{'type': 'number', 'minimum': -180, 'maximum': 180},
                                             {'type': 'number', 'minimum': -90, 'maximum': 90}],
            'items': False, 'minItems': 2}
DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']


def record(required, **properties):
    return {'type': 'object', 'properties': properties, 'required': required, 'additionalProperties': False}


PUBLIC = [
    # Settings of tools
    {'type': 'object', 'properties': {
        'name': NAME, 'version': {'type': 'string', 'pattern': '^[0-9]+\\.[0-9]+\\.[0-9]+$', 'maxLength': 20},
        'private': {'type': 'boolean'}, 'license': {'anyOf': [{'enum': ['MIT', 'GPL-3.0']}, STRING]},
        'dependencies': {'$ref': '#/definitions/dependencies'},
        'files': {'type': 'array', 'items': STRING, 'maxItems': 3},
        'author': {'oneOf': [STRING, record(['name'], name=STRING, email={'type': 'string', 'format': 'email'})]}},
     'required': ['name', 'version'], 'patternProperties': {'^_': {}},
     'definitions': {'dependencies': {'type': 'object', 'additionalProperties': {
         'type': 'string', 'pattern': '^[~^]?[0-9]+(\\.[0-9]+){0,2}$', 'maxLength': 12}}}},
    {'type': 'object', 'properties': {
        'strict': {'type': 'boolean', 'default': False}, 'target': {'enum': ['es5', 'es6', 'esnext']},
        'lib': {'type': 'array', 'uniqueItems': True, 'items': {'enum': ['dom', 'es6', 'webworker']}},
        'paths': {'type': 'object', 'propertyNames': {'pattern': '^[@a-z*/]{1,12}$'},
                  'additionalProperties': {'type': 'array', 'items': STRING, 'minItems': 1, 'maxItems': 2}}},
     'additionalProperties': False},
    {'type': 'object', 'properties': {'on': {'oneOf': [
        {'enum': ['push', 'pull']}, {'type': 'array', 'items': {'enum': ['push', 'pull']}, 'minItems': 1},
        {'type': 'object', 'properties': {'schedule': {'type': 'string'}}, 'minProperties': 1,
         'additionalProperties': False}]},
        'jobs': {'type': 'object', 'patternProperties': {'^[_a-zA-Z][a-zA-Z0-9_-]*$': record(
            ['steps'], steps={'type': 'array', 'minItems': 1, 'maxItems': 2, 'items': {
                'type': 'object', 'properties': {'run': STRING, 'uses': STRING},
                'oneOf': [{'required': ['run']}, {'required': ['uses']}], 'additionalProperties': False}})},
                 'additionalProperties': False, 'minProperties': 1}}, 'required': ['on', 'jobs']},
    {'type': 'object', 'properties': {'port': {'type': 'integer', 'minimum': 1, 'maximum': 65535},
                                      'tls': {'type': 'boolean'}, 'key': STRING, 'cert': STRING},
     'dependentRequired': {'key': ['cert'], 'cert': ['key']},
     'if': {'properties': {'tls': {'const': True}}, 'required': ['tls']}, 'then': {'required': ['key']}},
    {'type': 'object', 'properties': {'level': {'enum': ['debug', 'info', 'error']}, 'file': STRING,
                                      'rotate': {'type': 'integer', 'multipleOf': 5, 'minimum': 5}},
     'dependencies': {'rotate': ['file']}, 'additionalProperties': False},
    {'type': 'object', 'properties': {'retries': {'type': 'integer', 'minimum': 0, 'maximum': 10},
                                      'delay': {'type': 'string', 'pattern': '^[0-9]+(ms|s|m)$', 'maxLength': 6}},
     'minProperties': 1, 'additionalProperties': False},
    {'type': 'object', 'properties': {'image': STRING, 'build': STRING, 'ports': {
        'type': 'array', 'items': {'oneOf': [{'type': 'integer', 'minimum': 1, 'maximum': 65535},
                                             {'type': 'string', 'pattern': '^[0-9]{1,5}:[0-9]{1,5}$'}]}}},
     'anyOf': [{'required': ['image']}, {'required': ['build']}], 'patternProperties': {'^x-': True},
     'additionalProperties': False},
    # Offices and shops
    record(['number', 'date', 'lines', 'currency'], number={'type': 'string', 'pattern': '^INV-[0-9]{4,8}$'},
           date={'type': 'string', 'format': 'date'}, currency={'enum': ['EUR', 'USD', 'CHF']},
           lines={'type': 'array', 'minItems': 1, 'maxItems': 2, 'items': record(
               ['text', 'amount'], text={'type': 'string', 'maxLength': 20}, amount=MONEY,
               tax={'enum': [0, 0.07, 0.19]})}, note={'type': ['string', 'null']}),
    {'type': 'object', 'properties': {
        'country': {'enum': ['DE', 'NL', 'US']}, 'street': STRING, 'postcode': STRING},
     'required': ['country', 'postcode'], 'allOf': [
         {'if': {'properties': {'country': {'const': 'DE'}}},
          'then': {'properties': {'postcode': {'pattern': '^[0-9]{5}$'}}}},
         {'if': {'properties': {'country': {'const': 'NL'}}},
          'then': {'properties': {'postcode': {'pattern': '^[0-9]{4} [A-Z]{2}$'}}}},
         {'if': {'properties': {'country': {'const': 'US'}}},
          'then': {'properties': {'postcode': {'pattern': '^[0-9]{5}(-[0-9]{4})?$'}}}}]},
    {'type': 'object', 'properties': {'method': {'enum': ['card', 'transfer', 'cash']}, 'iban': STRING,
                                      'card': {'type': 'string', 'pattern': '^[0-9]{16}$'}},
     'required': ['method'], 'allOf': [
         {'if': {'properties': {'method': {'const': 'card'}}}, 'then': {'required': ['card']},
          'else': {'not': {'required': ['card']}}},
         {'if': {'properties': {'method': {'const': 'transfer'}}}, 'then': {'required': ['iban']}}]},
    record(['id', 'status'], id={'type': 'string', 'format': 'uuid'},
           status={'enum': ['open', 'paid', 'void']}, total=MONEY,
           paid={'type': ['string', 'null'], 'format': 'date-time'},
           tags={'type': 'array', 'items': NAME, 'maxItems': 3}),
    {'type': 'object', 'properties': {'open': {'type': 'object', 'propertyNames': {'enum': DAYS},
                                               'additionalProperties': {
                                                   'type': 'string', 'pattern': '^[0-2][0-9]:[0-5][0-9]$'}},
                                      'closed': {'type': 'array', 'uniqueItems': True, 'items': {'enum': DAYS}}}},
    {'type': 'object', 'properties': {'sku': {'type': 'string', 'pattern': '^[A-Z]{3}[0-9]+$', 'maxLength': 9},
                                      'weight': {'type': 'number', 'exclusiveMinimum': 0, 'multipleOf': 0.001},
                                      'pack': {'type': 'integer', 'multipleOf': 6, 'maximum': 60, 'minimum': 6}},
     'required': ['sku', 'weight', 'pack']},
    {'allOf': [{'$ref': '#/$defs/base'}, {'properties': {'role': {'enum': ['admin', 'guest']}},
                                          'required': ['role']}], 'unevaluatedProperties': False,
     '$defs': {'base': {'type': 'object', 'properties': {'login': NAME}, 'required': ['login']}}},
    {'type': 'object', 'properties': {'email': {'type': 'string', 'format': 'email'}, 'phone': {
        'type': 'string', 'pattern': '^\\+[0-9]+$', 'minLength': 6, 'maxLength': 15}},
     'anyOf': [{'required': ['email']}, {'required': ['phone']}], 'additionalProperties': False},
    {'type': 'object', 'properties': {'from': {'type': 'string', 'format': 'date'}, 'to': {
        'type': 'string', 'format': 'date'}, 'days': {'type': 'integer', 'minimum': 1, 'maximum': 30}},
     'required': ['from'], 'oneOf': [{'required': ['to']}, {'required': ['days']}]},
    # Maps and measurements
    {'oneOf': [record(['type', 'coordinates'], type={'const': 'Point'}, coordinates=POSITION),
               record(['type', 'coordinates'], type={'const': 'LineString'}, coordinates={
                   'type': 'array', 'items': POSITION, 'minItems': 2, 'maxItems': 3})]},
    record(['type', 'features'], type={'const': 'FeatureCollection'}, features={
        'type': 'array', 'maxItems': 2, 'items': record(
            ['type', 'geometry', 'properties'], type={'const': 'Feature'},
            geometry={'oneOf': [{'type': 'null'}, record(['type', 'coordinates'], type={'const': 'Point'},
                                                         coordinates=POSITION)]},
            properties={'type': ['object', 'null'], 'additionalProperties': STRING})}),
    {'type': 'array', 'items': {'type': 'array', 'prefixItems': [{'type': 'string', 'format': 'date-time'},
                                                                 {'type': 'number'}],
                                'minItems': 2, 'items': False}, 'maxItems': 3},
    {'type': 'object', 'properties': {'unit': {'enum': ['C', 'F']}, 'value': {'type': 'number'}},
     'required': ['unit', 'value'], 'if': {'properties': {'unit': {'const': 'C'}}},
     'then': {'properties': {'value': {'minimum': -273.15}}}, 'else': {'properties': {'value': {'minimum': -459.67}}}},
    {'type': 'object', 'patternProperties': {'^[0-9]{4}-[0-9]{2}$': {'type': 'number', 'minimum': 0}},
     'additionalProperties': False, 'maxProperties': 3},
    # Answers of assistants
    record(['steps', 'answer'], steps={'type': 'array', 'maxItems': 2, 'items': record(
        ['thought', 'output'], thought=STRING, output=STRING)}, answer=STRING),
    record(['sentiment', 'score'], sentiment={'enum': ['good', 'bad', 'mixed']},
           score={'type': 'number', 'minimum': 0, 'maximum': 1}, words={
               'type': 'array', 'items': {'type': 'string', 'minLength': 1, 'maxLength': 12}, 'maxItems': 4}),
    record(['entities'], entities={'type': 'array', 'maxItems': 2, 'items': {'anyOf': [
        record(['kind', 'name'], kind={'const': 'person'}, name=STRING),
        record(['kind', 'name', 'country'], kind={'const': 'city'}, name=STRING,
               country={'type': 'string', 'pattern': '^[A-Z]{2}$'})]}}),
    {'$ref': '#/$defs/Node', '$defs': {
        'Node': record(['op'], op={'enum': ['+', '-', '*']}, left={'$ref': '#/$defs/Operand'},
                       right={'$ref': '#/$defs/Operand'}),
        'Operand': {'anyOf': [{'type': 'number', 'minimum': 0, 'maximum': 9}, {'$ref': '#/$defs/Node'}]}}},
    {'title': 'Ticket', 'type': 'object', 'properties': {
        'title': {'title': 'Title', 'type': 'string', 'maxLength': 30},
        'priority': {'$ref': '#/$defs/Priority'},
        'labels': {'items': {'$ref': '#/$defs/Label'}, 'title': 'Labels', 'type': 'array', 'uniqueItems': True},
        'due': {'anyOf': [{'format': 'date', 'type': 'string'}, {'type': 'null'}], 'default': None}},
     'required': ['title', 'priority'],
     '$defs': {'Priority': {'enum': [1, 2, 3], 'type': 'integer'}, 'Label': {'enum': ['bug', 'idea'], 'type': 'string'}}},
    {'type': 'object', 'properties': {'query': {'type': 'string', 'minLength': 1, 'maxLength': 30, 'not': {
        'pattern': '^\\s'}}, 'limit': {'type': 'integer', 'minimum': 1, 'maximum': 100, 'default': 10},
        'cursor': {'type': 'string', 'pattern': '^[A-Za-z0-9_-]*$', 'maxLength': 16}}, 'required': ['query']},
    record(['command'], command={'type': 'string', 'not': {'enum': ['rm', 'sudo']}, 'pattern': '^[a-z]{2,6}$'},
           arguments={'type': 'array', 'items': STRING, 'maxItems': 3}),
    {'type': 'array', 'items': record(['role'], role={'enum': ['user', 'system']}, text=STRING), 'contains': {
        'properties': {'role': {'const': 'system'}}, 'required': ['role']}, 'minItems': 1, 'maxItems': 3},
    {'type': 'object', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'string'}, 'c': {'type': 'string'}},
     'maxProperties': 1, 'minProperties': 1, 'additionalProperties': False},
    {'type': 'object', 'properties': {'shape': {'type': 'string'}}, 'required': ['shape'], 'oneOf': [
        {'properties': {'shape': {'const': 'circle'}, 'radius': {'type': 'number', 'exclusiveMinimum': 0}},
         'required': ['radius']},
        {'properties': {'shape': {'const': 'square'}, 'side': {'type': 'number', 'exclusiveMinimum': 0}},
         'required': ['side']}]},
    {'definitions': {'positive': {'type': 'integer', 'minimum': 0, 'exclusiveMinimum': 0}},
     'allOf': [{'$ref': '#/definitions/positive'}, {'maximum': 12}]},
    {'allOf': [{'type': 'string', 'pattern': '^[a-z]+$'}, {'pattern': '[aeiou]'}, {'minLength': 3, 'maxLength': 8}]},
]
