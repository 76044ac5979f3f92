#!/usr/bin/env python3
"""Writes tests/fixtures/templates/features.json: small templates, each for one thing that templates do, with
what Python's jinja2 makes of them. Run by hand after adding one; see the README there."""

import json
import os
import re

import jinja_reference

VARIABLES = {
    'messages': [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': ' Hello, <World> '},
                 {'role': 'assistant', 'content': 'Ahoj ř 🦊'}],
    'tools': None, 'add_generation_prompt': True, 'bos_token': '<s>', 'eos_token': '</s>',
    'n': 7, 'x': 2.5, 'big': 1e16, 'tiny': 1e-5, 'yes': True, 'none': None, 'empty': '', 'list': [3, 1, 2],
    'words': ['b', 'A', 'c', 'a'], 'dict': {'b': 1, 'a': [True, None, 'q"\'']},
    'tree': [{'v': 1, 'kids': [{'v': 2, 'kids': []}, {'v': 3, 'kids': [{'v': 4, 'kids': []}]}]}],
    'people': [{'name': 'Bo', 'age': 3, 'home': {'city': 'X'}}, {'name': 'al', 'age': 2}, {'name': 'Cy', 'age': 3}],
    'text': 'one  two\tthree\nfour\n\n five ', 'quote': "it's \"so\"\\\n\x07\u2028é\u00a0",
}

# A name, then the template up to the next name.
FEATURES = r'''
== data and output ==
a {{ n }} b {{ x }} {{ yes }} {{ none }} {{ missing }} {{ list }} {{ dict }} {{ (1, 'a') }} {{ (1,) }} {{ () }}
== floats ==
{{ big }} {{ tiny }} {{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1e100 }} {{ 123456789012345678.0 }} {{ -0.0 }} {{ 1e22 }} {{ 5e-324 }} {{ 100.0 }}
== trim and lstrip ==
<
  {% if yes %}
  in
    {{ n }}
  {% endif %}
>
  {# gone #}
end  {% set y = 1 %}  tail
== signs ==
a {%- if yes -%} b {%- endif %} c {{- n -}} d
  {%+ if yes +%}
 kept {%+ endif %}
{#- x -#}   z
== raw ==
{% raw %}{{ n }} {% if %}{% endraw %} {%- raw -%}  {# c #} {%- endraw -%} e
== comments ==
a{# one
two #}b{#- three #}
c
== for else ==
{% for i in list %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ ',' if not loop.last }}{% else %}none{% endfor %}
{% for i in [] %}x{% else %}none{% endfor %}
{% for i in list if i > 1 %}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}
== for unpacks ==
{% for k, v in dict.items() %}{{ k }}={{ v }};{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}{% for c in 'ař🦊' %}[{{ c }}]{% endfor %}{% for k in dict %}{{ k }}{% endfor %}
== break and continue ==
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}{% for i in [1] %}{% break %}{% else %}else{% endfor %}
== recursive ==
{% for t in tree recursive %}{{ loop.depth }}{{ t.v }}({{ loop(t.kids) }}){% endfor %}
== cycle and changed ==
{% for i in [1, 1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i) }} {% endfor %}
== scopes ==
{% set y = 1 %}{% for i in list %}{% set y = i %}{{ y }}{% endfor %}{{ y }}{% if yes %}{% set y = 9 %}{% endif %}{{ y }}{% with y = 5, z = y %}{{ y }}{{ z }}{% endwith %}{{ y }}
== namespace ==
{% set ns = namespace(a=1, b='x') %}{% for i in list %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{% set d = namespace({'k': 2}) %}{{ d.k }}{{ d['k'] }}
== set block ==
{% set b %}<{{ n }}>{% set inner = 1 %}{% endset %}{{ b }}{{ inner is defined }}{% set u | upper | trim %} abc {% endset %}{{ u }}{% set p, q = 1, 2 %}{{ p }}{{ q }}
== macros ==
{% macro m(a, b='d', c=a) %}[{{ a }}{{ b }}{{ c }}{{ y }}]{% endmacro %}{{ m(1) }}{% set y = 3 %}{{ m(1, c=2) }}{{ m(b='z', a=4) }}{{ m() }}
== macro extras ==
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}{{ m.name }}{% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(3) }}{{ m(*[1, 2], **{'z': 3}) }}
== macro refuses ==
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
== call ==
{% macro box(t) %}<{{ t }}:{{ caller('u') }}>{% endmacro %}{% call(v) box('t') %}{{ v }}{{ n }}{% endcall %}{% macro opt() %}{{ caller is defined }}{% endmacro %}{{ opt() }}
== filter block ==
{% filter upper | replace('B', '-') %}ab{{ n }}{% endfilter %}
== conditions ==
{{ 1 if yes else 2 }}{{ 1 if none }}{{ (1 if none) is defined }}{{ 'a' if n > 5 else 'b' if n > 3 else 'c' }}{% if none %}1{% elif n == 7 %}2{% else %}3{% endif %}
== logic ==
{{ none or 'x' }}{{ '' and 1 }}{{ not '' }}{{ 0 or [] or 'last' }}{{ missing or 'd' }}{{ yes and n }}
== comparisons ==
{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1.0 == true }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}{{ 1 != '1' }}{{ [1] == [1] }}{{ (1,) == [1] }}{{ {'a': 1} == {'a': 1} }}{{ missing == none }}{{ missing == missing2 }}
== in ==
{{ 'a' in 'cat' }}{{ 1 in list }}{{ 'b' in dict }}{{ 9 not in list }}{{ '' in 'x' }}{{ 'x' in missing }}{{ 'ř' in messages[2].content }}
== arithmetic ==
{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 7 % -3 }}{{ 7 / 2 }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ -2 ** 2 }}{{ 1 + 2 * 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ true + 1 }}{{ 'ab' * 2 }}{{ [1] * 2 }}{{ 3 * 'x' }}{{ [1] + [2] }}
== concat ==
{{ 1 ~ 'a' ~ none ~ 2.5 ~ [1] }}{{ 'a' ~ missing ~ 'b' }}{{ 'x' 'y' "z" }}
== literals ==
{{ 1_000 }}{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1_0.5 }}{{ 'a\tb\n\x41\u0159\'\d' }}{{ "\"" }}{{ True }}{{ None }}{{ {'a': 1, 'b': {'c': [1, 2,]}} }}{{ [1, 'a', 2.0, none] }}
== subscripts ==
{{ list[0] }}{{ list[-1] }}{{ list[9] is defined }}{{ dict['b'] }}{{ dict.a[2] }}{{ messages[0]['role'] }}{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ list.0 }}{{ dict['zz'] is defined }}{{ list['a'] is defined }}{{ n.foo is defined }}
== slices ==
{{ list[1:] }}{{ list[:-1] }}{{ list[::-1] }}{{ list[::2] }}{{ 'ař🦊b'[1:3] }}{{ 'abc'[::-1] }}{{ 'abc'[5:] }}{{ 'abc'[-2:] }}{{ (1, 2, 3)[1:] }}{{ list[2:0:-1] }}{{ 'abc'[:none] }}
== string methods ==
{{ text.split() }}{{ text.split(none, 1) }}{{ 'a,b,,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ text.rsplit(none, 1) }}{{ ' a b '.rsplit(none, 1) }}{{ ' a  b '.split(none, 1) }}{{ text.splitlines() }}{{ text.splitlines(true) }}{{ 'xxaxx'.strip('x') }}{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ 'abcab'.strip('ba') }}
== more string methods ==
{{ 'abc'.startswith('a') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abc'.startswith('b', 1) }}{{ 'a-b'.replace('-', '+') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ 'ab'.replace('', '-') }}{{ 'abca'.find('a', 1) }}{{ 'abca'.rfind('a') }}{{ 'abc'.find('z') }}{{ 'aba'.count('a') }}{{ 'abc'.index('c') }}{{ ','.join(['a', 'b']) }}{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}{{ 'ab'.partition('=') }}{{ 'ab'.rpartition('=') }}
== case methods ==
{{ 'aB cD'.upper() }}{{ 'aB'.lower() }}{{ 'aB cD'.title() }}{{ "they're bill's".title() }}{{ 'aB cD'.capitalize() }}{{ 'aB'.swapcase() }}{{ 'straße'.upper() }}{{ 'ABC'.isupper() }}{{ 'aB1'.islower() }}{{ '12'.isdigit() }}{{ 'a1'.isalnum() }}{{ ' \t'.isspace() }}{{ ''.isalpha() }}
== padding ==
[{{ 'ab'.center(7) }}][{{ 'ab'.center(6, '*') }}][{{ 'abc'.center(6) }}][{{ 'ab'.ljust(4, '.') }}][{{ 'ab'.rjust(4) }}][{{ '-7'.zfill(4) }}][{{ 'abc' | center(8) }}][{{ 'xay'.removeprefix('x').removesuffix('y') }}]
== dict methods ==
{{ dict.get('b') }}{{ dict.get('z') }}{{ dict.get('z', 5) }}{{ dict.keys() | list }}{{ dict.values() | list }}{{ dict.items() | list }}{{ dict | items | list }}{{ dict | length }}{{ dict.keys() }}{{ {'items': 1}['items'] }}
== list methods ==
{{ [1, 2, 1].count(1) }}{{ [1, 2].index(2) }}{{ list.append is defined }}{{ list.extend is defined }}{{ (1, 2).append is defined }}
== lists grow ==
{% set own = [] %}{% set same = own %}{% for word in ['a', 'b', 'c'] %}{% set _ = own.append(word ~ loop.index) %}{% endfor %}{{ same }}{{ own.pop(0) }}{{ own.pop() }}{{ own }}{% set space = namespace(ids=[]) %}{% set _ = space.ids.append(5) %}{{ space.ids }}{{ space.ids.pop(-1) }}{{ space.ids }}
== nothing to pop ==
{{ [].pop() }}
== no such place ==
{{ [1].pop(1) }}
== sandbox refuses extend ==
{% set _ = list.extend([1]) %}
== sandbox hides ==
{{ ''.__class__ is defined }}{{ dict.__init__ is defined }}
== undefined attribute ==
{{ missing.attribute }}
== undefined call ==
{{ missing() }}
== undefined sum ==
{{ missing + 1 }}
== type error ==
{{ 'a' + 1 }}
== none has no attribute ==
{{ none.a is defined }}{{ none.a.b }}
== not iterable ==
{% for i in 5 %}{% endfor %}
== raised ==
{{ raise_exception('No ' ~ n) }}
== division by zero ==
{{ 1 // 0 }}
== unpack error ==
{% for a, b in [(1, 2, 3)] %}{% endfor %}
== syntax: open if ==
{% if yes %}
== syntax: unknown tag ==
{% fi %}
== syntax: bracket ==
{{ (1 }}
== syntax: operator ==
{{ 1 + }}
== tests ==
{{ n is number }}{{ n is integer }}{{ x is float }}{{ yes is boolean }}{{ yes is number }}{{ '' is string }}{{ dict is mapping }}{{ list is sequence }}{{ dict is sequence }}{{ 'a' is iterable }}{{ 5 is iterable }}{{ none is none }}{{ missing is undefined }}{{ 4 is even }}{{ 3 is odd }}{{ 9 is divisibleby 3 }}{{ 1 is eq 1 }}{{ 1 is in [1] }}{{ yes is true }}{{ 0 is false }}{{ 'A' is upper }}{{ 'a' is lower }}{{ namespace is callable }}{{ 1 is sameas 1 }}{{ n is not none }}{{ 'upper' is filter }}{{ 'odd' is test }}{{ 2 is gt(1) }}
== defaults ==
{{ missing | default('d') }}{{ '' | default('d') }}{{ '' | default('d', true) }}{{ none | default('d', boolean=true) }}{{ missing | d }}{{ missing.x | default('no') if missing is defined else 'none' }}
== sequence filters ==
{{ list | sort }}{{ words | sort }}{{ words | sort(case_sensitive=true) }}{{ list | sort(reverse=true) }}{{ people | sort(attribute='age,name') | map(attribute='name') | list }}{{ list | first }}{{ list | last }}{{ list | min }}{{ list | max }}{{ list | sum }}{{ people | sum('age') }}{{ words | unique | list }}{{ list | reverse | list }}{{ 'abc' | reverse }}{{ [] | first is defined }}{{ 'abc' | list }}{{ list | length }}{{ list | count }}
== map and select ==
{{ people | map(attribute='home.city', default='?') | join(',') }}{{ words | map('upper') | join }}{{ list | select('gt', 1) | list }}{{ list | reject('odd') | list }}{{ people | selectattr('age', 'equalto', 3) | map(attribute='name') | list }}{{ people | rejectattr('home', 'defined') | list | length }}{{ [0, 1, ''] | select | list }}{{ none | map('upper') | list }}{{ ['a b', 'c'] | map('replace', ' ', '_') | list }}
== generators are spent ==
{% set g = list | select('gt', 0) %}{{ g | list }}{{ g | list }}
== grouping ==
{{ people | groupby('age') | list | length }}{% for a, p in people | groupby('age') %}{{ a }}:{{ p | map(attribute='name') | join('+') }};{% endfor %}{{ list | batch(2, 'x') | list }}{{ list | slice(2) | list }}
== dictsort ==
{{ {'b': 1, 'A': 3, 'c': 2} | dictsort }}{{ {'b': 1, 'A': 3} | dictsort(true) }}{{ {'b': 1, 'A': 3} | dictsort(false, 'value', true) }}
== join ==
{{ list | join(', ') }}{{ people | join('|', attribute='name') }}{{ [1, none, 'a'] | join('-') }}{{ dict | join }}
== text filters ==
{{ ' a ' | trim }}|{{ 'xax' | trim('x') }}{{ 'hello wOrld-foo (bar)' | title }}{{ 'aB' | capitalize }}{{ 'abcd efgh ijkl' | truncate(9) }}{{ 'abcdefghijkl' | truncate(5, true, '~', 0) }}{{ 'a b_c, d' | wordcount }}{{ 'a b/č?' | urlencode }}{{ 3 | string }}{{ n | upper }}{{ -3 | abs }}
== indent ==
{{ text | indent }}|{{ 'a\n\nb\n' | indent(2, true, true) }}|{{ 'a\nb' | indent('> ', first=true) }}|{{ '' | indent }}
== numbers from text ==
{{ '42' | int }}{{ '42.9' | int }}{{ 'x' | int }}{{ 'x' | int(7) }}{{ '0x1f' | int(base=16) }}{{ 3.9 | int }}{{ '2.5' | float }}{{ 'x' | float(1.5) }}{{ none | int }}{{ 2.567 | round(2) }}{{ 2.5 | round }}{{ 3.5 | round | int }}{{ 2.1 | round(0, 'ceil') }}{{ 42 | round }}
== escape and safe ==
{{ '<a> & "b"\'' | e }}{{ '<b>' | safe + '<i>' }}{{ '<b>' | safe ~ '<i>' }}{{ ('<' | safe) * 2 }}{{ '%s' | safe % '<' }}{{ '<' | e | e }}{{ '<x>' | safe | upper }}
== tojson ==
{{ dict | tojson }}{{ quote | tojson }}{{ dict | tojson(indent=2) }}{{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}{{ [1, 2.5, none, true, {}] | tojson(separators=(',', ':')) }}{{ 'ř🦊' | tojson(ensure_ascii=true) }}{{ [] | tojson(indent=4) }}{{ {1: 2, none: 3} | tojson }}{{ big | tojson }}{{ (1, 2) | tojson }}
== tojson refuses undefined ==
{{ missing | tojson }}
== repr ==
{{ [quote] }}{{ ["a'b"] }}{{ ['a"b\'c'] }}{{ {'k': 'ř\x00\x7f'} }}{{ [1.0, true, none, missing] }}{{ range(3) }}{{ range(3) | list }}{{ range(5, 1, -2) | list }}
== percent ==
{{ '%s-%d-%5.2f|%-4s|%04d|%x|%%|%r' % ('a', 7.9, x, 'b', 42, 255, 'q') }}{{ '%(a)s' % {'a': 1} }}{{ '%s' % n }}{{ '%s, %s' | format('a', 2) }}{{ '%+d % d' % (3, 4) }}{{ '%e' % 12345.678 }}
== percent refuses ==
{{ '%s %s' % 'a' }}
== format ==
{{ '{} {} {0}'.format(1, 2) if false else '{} {}'.format(1, 'b') }}{{ '{1}{0}'.format('a', 'b') }}{{ '{k}{{}}{d[b]}'.format(k=1, d=dict) }}{{ '{:>5}|{:<4}|{:^5}|{:*^7}|{:05d}|{:.2f}|{:,}|{!r}'.format('a', 'b', 'c', 'd', 42, x, 1234567, 'q') }}
== time ==
{{ strftime_now('%Y-%m-%d %H:%M:%S %d %b %Y %B %A %a %j %y %I %p %%') }}
== print and generation ==
{% print n, 'a' %}{% generation %}x{{ n }}{% endgeneration %}{% block title %}T{% endblock %}
== precedence ==
{{ 1 + 2 | string }}{{ not none is defined }}{{ 'a' ~ 1 + 2 }}{{ -1 | abs }}{{ (-1) | abs }}{{ 2 * 3 ~ 4 }}{{ 'x' if yes else 'y' | upper }}{{ 1 in [1] and 2 in [2] }}{{ not 1 in [2] }}
== newlines ==
a
{{ n }}

{% if yes %}

b
{% endif %}

c

== carriage returns ==
aCR
bCRLF{% if yes %}CR
c{% endif %}CR

== messages ==
{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] | trim + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}
'''


def main():
    environment = jinja_reference.make_environment()
    parts = re.split(r'^== (.*) ==\n', FEATURES.lstrip('\n'), flags=re.M)[1:]
    cases = []
    for name, source in zip(parts[::2], parts[1::2]):
        source = source.replace('CRLF', '\r\n').replace('CR\n', '\r')
        answer = jinja_reference.render(environment, source, VARIABLES)
        if answer.get('error') != 'raised':
            answer.pop('message', None)
        cases.append({'name': name, 'template': source, **answer})
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'fixtures/templates')
    with open(os.path.join(folder, 'features.json'), 'w', encoding='utf-8') as file:
        json.dump({'now': jinja_reference.NOW_US, 'variables': VARIABLES, 'cases': cases}, file, indent=1)
        file.write('\n')
    print(f'{len(cases)} cases, {sum("text" in case for case in cases)} with text')


if __name__ == '__main__':
    main()
