#!/usr/bin/env python3
"""Drives the built `sundog` as people and programs do: with the starter model where it is in the cache, and
with wrong words everywhere."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest
import urllib.request

BUILD = os.environ['SUNDOG_BUILD']
SUNDOG = os.path.join(BUILD, 'sundog')
MODEL = os.path.join(os.environ['SUNDOG_TEST_CACHE'], 'smollm2.gguf')
NAME = 'smollm2-135m-instruct'
# Far more than anything takes: what waits longer hangs.
PATIENCE_S = 60


def sundog(*words, text=None, timeout=120):
    return subprocess.run([SUNDOG, *words], input=text, capture_output=True, timeout=timeout, text=True,
                          **({} if text is not None else {'stdin': subprocess.DEVNULL}))


def last_json(result):
    return json.loads(result.stdout.splitlines()[-1])


def setUpModule():
    if not os.path.exists(MODEL):
        print('skipped: the starter model is not in the cache; run tests/fetch smollm2')
        sys.exit(77)
    for words in [('pull', NAME, '--from', MODEL), ('prepare', NAME)]:
        result = sundog(*words)
        assert result.returncode == 0, result.stderr


class Words(unittest.TestCase):
    """Wrong words, and what is said to them."""

    def check(self, status, *words, says='', text=None):
        result = sundog(*words, text=text)
        self.assertEqual(result.returncode, status, (words, result.stdout, result.stderr))
        self.assertIn(says, result.stdout + result.stderr, words)
        return result

    def test_help_and_version(self):
        listed = self.check(0, '--help', says='Commands:').stdout
        names = [line.split()[0] for line in listed.splitlines() if line.startswith('  ') and
                 not line.startswith('  sundog')]
        self.assertEqual(names, sorted(names))
        for name in ['bench', 'chat', 'config', 'doctor', 'fit', 'inspect', 'key', 'list', 'prepare', 'pull', 'rm',
                     'run', 'serve', 'show', 'status', 'stop', 'tokenize', 'verify']:
            self.assertIn(name, names)
            self.check(0, name, '--help', says=f'sundog {name}')
        self.check(0, '--version', says='sundog ')

    def test_usage(self):
        self.check(2, says='Commands:')
        self.check(2, 'fly', says='--help')
        for words in [('run',), ('run', NAME), ('inspect',), ('verify',), ('fit',), ('chat',), ('tokenize',),
                      ('inspect', 'a', 'b'), ('config', 'a', 'b', 'c'), ('key', 'give', 'a'), ('key', 'add'), ('list', '--nothing'),
                      ('fit', NAME, '--threads', '-1'), ('verify', NAME, '--threads', '9999'),
                      ('bench',), ('bench', NAME, '--repeat', '0'), ('run', NAME, '-p', 'x', '-t', '-5'),
                      ('chat', NAME, '--top-p', '7'), ('config', '--unset'),
                      ('inspect', NAME, '--json', '--dot'), ('prepare', NAME, '--activations', 'int9'),
                      ('prepare', NAME, '--target', 'sm_90a', '--activations', 'f32')]:
            result = sundog(*words)
            self.assertEqual(result.returncode, 2, (words, result.stderr))
            self.assertTrue(result.stderr.startswith('sundog: '), words)

    def test_nothing_of_that_name(self):
        for command in ['inspect', 'verify', 'fit', 'chat', 'show', 'rm', 'bench', 'tokenize']:
            self.check(1, command, 'no-such-core', says='no-such-core', text='')
        self.check(1, 'run', 'no-such-core', '-p', 'x', says='no-such-core')
        self.check(1, 'verify', '/nowhere/at/all.core', says='/nowhere')

    def test_errors_are_json_for_programs(self):
        for words in [('verify', 'no-such-core'), ('fit', 'no-such-core'), ('config', 'no.such.key')]:
            result = self.check(1, *words, '--json')
            self.assertTrue(last_json(result)['error']['message'])


class Settings(unittest.TestCase):
    def test_show_change_and_unset(self):
        self.assertEqual(sundog('config', 'engine.context', '4096').stdout, '4096\n')
        self.assertEqual(last_json(sundog('config', 'engine.context', '--json'))['value'], 4096)
        self.assertIn('4096', sundog('config').stdout)
        self.assertEqual(sundog('config', '--unset', 'engine.context').stdout, '0\n')
        self.assertEqual(sundog('config', 'engine.threads', 'many').returncode, 1)
        self.assertEqual(sundog('config', 'no.such.key', '1').returncode, 1)
        keys = {row['key'] for row in last_json(sundog('config', '--json'))['settings']}
        self.assertIn('server.port', keys)

    def test_secret_is_not_shown(self):
        sundog('config', 'server.key', 'hush-hush')
        self.assertNotIn('hush-hush', sundog('config').stdout + sundog('config', '--json').stdout)
        sundog('config', '--unset', 'server.key')

    def test_key(self):
        made = sundog('key', 'add', 'editor', '--requests', '60', '--models', f'{NAME},other')
        secret = made.stdout.strip()
        self.assertTrue(secret.startswith('sundog-') and len(secret) > 40)
        self.assertIn('server.key', made.stderr)
        self.assertEqual(sundog('key', 'add', 'editor').returncode, 1)
        listed = sundog('key', 'list').stdout + sundog('key', 'list', '--json').stdout
        self.assertIn('60 requests a minute', listed)
        self.assertNotIn(secret, listed)
        self.assertEqual(sundog('key', 'rm', 'editor', text='').returncode, 1)
        self.assertEqual(sundog('key', 'rm', 'editor', '--yes').returncode, 0)
        self.assertEqual(last_json(sundog('key', 'list', '--json'))['keys'], [])
        sundog('config', '--unset', 'server.key')

    def test_damaged_file_is_kept(self):
        path = last_json(sundog('config', '--json'))['path']
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write('{"version": 1,')
        try:
            result = sundog('config')
            self.assertEqual(result.returncode, 1)
            with open(path) as file:
                self.assertEqual(file.read(), '{"version": 1,')
            self.assertEqual(sundog('doctor').returncode, 1)
        finally:
            os.remove(path)


class Doctor(unittest.TestCase):
    def test_all_is_told(self):
        result = sundog('doctor', '--json')
        findings = {row['what']: row for row in last_json(result)['findings']}
        for what in ['processor', 'instructions', 'memory', 'disk', 'graphics card', 'sundog-engine', 'library',
                     'settings', 'server']:
            self.assertIn(what, findings)
            self.assertIn(findings[what]['verdict'], ['good', 'note', 'bad'])
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn('models: 1, cores: 1', sundog('doctor').stdout)


class Inspect(unittest.TestCase):
    def test_tables(self):
        text = sundog('inspect', NAME, '--weights').stdout
        for word in ['Members', 'weights/data', 'Programs', 'forward', 'Memory plan', 'Weights']:
            self.assertIn(word, text)
        self.assertIn('logits', sundog('inspect', NAME, '--program', 'sample').stdout)
        self.assertTrue(sundog('inspect', NAME, '--dot').stdout.startswith('digraph'))
        result = sundog('inspect', NAME, '--program', 'nothing')
        self.assertEqual(result.returncode, 1)
        self.assertIn('forward', result.stderr)

    def test_json(self):
        core = last_json(sundog('inspect', NAME, '--json'))
        self.assertEqual(core['manifest']['target'], 'host')
        self.assertGreater(core['memory']['weight_bytes'], 10 ** 7)
        self.assertIn('forward', [program['name'] for program in core['programs']])


class Verify(unittest.TestCase):
    def test_good(self):
        result = sundog('verify', NAME, '--json', timeout=600)
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertTrue(all('phase' in line and 0 <= line['fraction'] <= 1 for line in lines[:-1]))
        self.assertEqual(lines[-1]['done'], True)
        self.assertEqual(lines[-1]['unequal_positions'], 0)
        self.assertTrue(all(row['different_bytes'] == 0 for row in lines[-1]['operations'].values()))

    def test_changed_bytes_are_found(self):
        cores = os.path.join(os.environ['XDG_DATA_HOME'], 'sundog/cores')
        copy = os.path.join(cores, 'changed')
        shutil.copytree(os.path.join(cores, NAME), copy)
        try:
            self.assertEqual(sundog('verify', 'changed', '--hashes-only').returncode, 0)
            with open(os.path.join(copy, 'weights/data'), 'r+b') as file:
                file.seek(12345)
                byte = file.read(1)
                file.seek(12345)
                file.write(bytes([byte[0] ^ 1]))
            result = sundog('verify', 'changed', '--hashes-only')
            self.assertEqual(result.returncode, 1)
            self.assertIn('weights/data', result.stderr)
        finally:
            shutil.rmtree(copy)


class Use(unittest.TestCase):
    def test_fit_is_kept(self):
        result = sundog('fit', NAME, '--json', timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        done = last_json(result)
        self.assertGreater(done['prefill_tokens_per_second'], 0)
        with open(os.path.join(os.environ['XDG_CACHE_HOME'], 'sundog/fits', NAME + '.json')) as file:
            kept = json.load(file)
        self.assertEqual(kept['decode_tokens_per_second'], done['decode_tokens_per_second'])
        self.assertEqual(kept['core'], NAME)

    def test_server_tells_the_speed(self):
        sundog('fit', NAME, timeout=300)
        server = subprocess.Popen([SUNDOG, 'serve', '--port', '0'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE_S
            while sundog('status').returncode != 0 and time.monotonic() < end:
                time.sleep(0.1)
            state = last_json(sundog('status', '--json'))
            with urllib.request.urlopen(f'http://127.0.0.1:{state["port"]}/sundog/v1/cores', timeout=10) as answer:
                speeds = {core['name']: core['speed'] for core in json.load(answer)['cores']}
            self.assertGreater(speeds[NAME]['decode_tokens_per_second'], 0)
            self.assertEqual(sundog('stop').returncode, 0)
        finally:
            server.terminate()
            server.wait(PATIENCE_S)

    def test_tokenize(self):
        tokens = last_json(sundog('tokenize', NAME, '--json', text='<|im_end|>'))['tokens']
        self.assertEqual(len(tokens), 1)
        plain = last_json(sundog('tokenize', MODEL, '--json', '--no-special', text='<|im_end|>'))['tokens']
        self.assertGreater(len(plain), 1)
        self.assertNotIn(tokens[0], plain)
        self.assertEqual(last_json(sundog('tokenize', NAME, '--json', text=''))['tokens'], [])

    def test_run_repeats_with_a_seed(self):
        words = ['run', NAME, '-p', 'Say hello.', '-n', '12', '--seed', '5']
        first, second = sundog(*words), sundog(*words)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertTrue(first.stdout.strip())
        self.assertEqual(first.stdout, second.stdout)

    def test_small_core_drafts(self):
        words = ['run', NAME, '-p', 'Say hello.', '-n', '24', '--seed', '5']
        alone, drafted = sundog(*words), sundog(*words, '--draft', NAME)
        self.assertEqual(drafted.returncode, 0, drafted.stderr)
        self.assertEqual(alone.stdout, drafted.stdout)

    def test_other_vocabulary_is_refused(self):
        tiny = os.path.join(os.environ['SUNDOG_SOURCE'], 'tests/prepare/tiny/q8_0-bias.gguf')
        self.assertEqual(sundog('prepare', tiny, '-o', 'other').returncode, 0)
        try:
            for words in [('run', NAME, '-p', 'x', '--draft', 'other'),
                          ('serve', '--core', NAME, '--draft', 'other', '--port', '0')]:
                result = sundog(*words)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn('the vocabularies differ: token 0', result.stderr)
        finally:
            sundog('rm', 'other', '--yes')

    def test_chat_from_a_pipe(self):
        result = sundog('chat', NAME, '-t', '0', '-n', '16', '--timing',
                        text='Hello.\n/again\n/fly\n\n/new\nHello.\n')
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = result.stdout
        once = sundog('run', NAME, '-t', '0', '-n', '16', '-p', 'Hello.').stdout
        self.assertEqual(answers, once * 3)
        self.assertIn('/fly', result.stderr)
        self.assertEqual(result.stderr.count('tokens/s;') or result.stderr.count('reused'), 3)

    def test_removing_needs_a_yes(self):
        sundog('prepare', NAME, '-o', 'spare')
        for text in ['', 'n\n', 'perhaps\n']:
            self.assertNotEqual(sundog('rm', 'spare', text=text).returncode, 0)
        self.assertEqual(sundog('inspect', 'spare').returncode, 0)
        self.assertEqual(sundog('rm', 'spare', '--yes').returncode, 0)
        self.assertEqual(sundog('inspect', 'spare').returncode, 1)

    def test_without_a_server(self):
        for command in ['status', 'stop']:
            result = sundog(command)
            self.assertEqual(result.returncode, 1)
            self.assertIn('sundog', result.stderr)


class Terminal:
    """`sundog chat` on a terminal of its own."""

    def __init__(self, *words):
        self.output = b''
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(SUNDOG, [SUNDOG, *words])

    def wait_for(self, text):
        end = time.monotonic() + PATIENCE_S
        while text not in self.output:
            if time.monotonic() > end:
                raise AssertionError(f'{text!r} did not come: {self.output[-500:]!r}')
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:
                    raise AssertionError(f'ended before {text!r}: {self.output[-500:]!r}')

    def send(self, keys):
        self.output = b''
        os.write(self.fd, keys)

    def end(self):
        """The exit status; killed where it does not come."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError('chat did not end')


PROMPT = b'\x1b[?2004h'


class ChatOnATerminal(unittest.TestCase):
    def test_editing_history_and_paste(self):
        chat = Terminal('chat', NAME, '-t', '0', '-n', '4')
        chat.wait_for(PROMPT)
        chat.send('Hallö'.encode() + b'\x1b[D\x1b[D\x7fx\x1b[Hy\x1b[F!')
        chat.wait_for('yHaxlö!'.encode())
        chat.send(b'\r')
        chat.wait_for(PROMPT)
        chat.send(b'\x1b[A')
        chat.wait_for('yHaxlö!'.encode())
        chat.send(b'\x03')
        chat.wait_for(b'> \x1b[K')
        chat.send(b'\x1b[200~one\ntwo\x1b[201~')
        chat.wait_for('one↵two'.encode())
        chat.send(b'\r')
        chat.wait_for(PROMPT)
        chat.send(b'\x04')
        self.assertEqual(chat.end(), 0)
        with open(os.path.join(os.environ['XDG_STATE_HOME'], 'sundog/chat-history')) as file:
            self.assertEqual(file.read(), 'yHaxlö!\none\\ntwo\n')

    def test_stopping_an_answer(self):
        chat = Terminal('chat', NAME, '-t', '0')
        chat.wait_for(PROMPT)
        for _ in range(10):
            chat.send(b'Write a very long story about a dog and a cat.\r')
            chat.wait_for(b'upon a time')
            chat.send(b'\x03')
            chat.wait_for(PROMPT)
            if b'(stopped)' in chat.output:
                break
            # Where this process had no turn meanwhile, the answer had ended by then.
        self.assertIn(b'(stopped)', chat.output)
        chat.send(b'\x03')
        self.assertEqual(chat.end(), 0)

    def test_keys_typed_ahead(self):
        chat = Terminal('chat', NAME, '-t', '0', '-n', '60')
        chat.wait_for(PROMPT)
        chat.send(b'Tell me a story.\r')
        chat.wait_for(b'\x1b[?2004l')
        chat.send(b'typed ahead')
        chat.wait_for(b'typed ahead')
        self.assertLess(chat.output.index(PROMPT), chat.output.index(b'typed ahead'))
        chat.send(b'\x15\x04')
        self.assertEqual(chat.end(), 0)

    def test_the_terminal_is_given_back(self):
        def echoes():
            return bool(termios.tcgetattr(chat.fd)[3] & termios.ECHO)
        for times in (1, 2):  # the second signal ends it at once
            chat = Terminal('chat', NAME, '-t', '0')
            chat.wait_for(PROMPT)
            self.assertFalse(echoes())
            for _ in range(times):
                os.kill(chat.pid, signal.SIGTERM)
            end = time.monotonic() + PATIENCE_S
            while not echoes() and time.monotonic() < end:
                time.sleep(0.01)
            self.assertTrue(echoes())
            self.assertIn(chat.end(), (0, -signal.SIGTERM))

    def test_termination_leaves_nothing(self):
        chat = Terminal('chat', NAME, '-t', '0')
        chat.wait_for(PROMPT)
        os.kill(chat.pid, signal.SIGTERM)
        self.assertEqual(chat.end(), 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
