"""A server on a free port with the starter model's core, for tests of real clients."""

import json
import os
import subprocess
import sys
import time
import unittest
import urllib.request

BUILD = os.environ['SUNDOG_BUILD']
MODEL = os.path.join(os.environ['SUNDOG_TEST_CACHE'], 'smollm2.gguf')
SUNDOG = os.path.join(BUILD, 'sundog')
SKIP = 77
NAME = 'smollm2'


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(SKIP)


def need(package, starter=True):
    """The client's package, or a skip; and the starter model where the test asks that."""
    if starter and not os.path.exists(MODEL):
        skip('the starter model is not in the cache')
    try:
        return __import__(package)
    except ImportError:
        skip(f'the Python package {package} is not installed')


class RunningServer:
    """fixed: the one core answers whatever model is asked for; else it lies in the library as NAME.
    models: others in the place of the starter model, each by its name in the library."""

    def __init__(self, fixed=True, models=None):
        folder = os.environ['XDG_DATA_HOME'] + '/sundog/cores'
        os.makedirs(folder, exist_ok=True)
        for name, model in (models or {NAME: MODEL}).items():
            self.core = os.path.join(folder, name)
            if not os.path.exists(self.core):
                subprocess.run([SUNDOG, 'prepare', model, '-o', self.core], check=True, stdout=subprocess.DEVNULL)
        words = ['--core', self.core] if fixed else []
        self.process = subprocess.Popen([SUNDOG, 'serve', '--port', '0', *words], stdout=subprocess.DEVNULL)
        self.port = self.wait(self.read_port)
        self.url = f'http://127.0.0.1:{self.port}'
        self.wait(lambda: urllib.request.urlopen(self.url + ('/health' if fixed else '/v1/models'), timeout=10))

    def read_port(self):
        """As the server publishes it, which has chosen it itself: one that is probed first may be another's by then."""
        with open(os.path.join(os.environ['XDG_RUNTIME_DIR'], 'sundog', 'server.json'), encoding='utf-8') as file:
            facts = json.load(file)
        if facts['pid'] != self.process.pid:
            raise FileNotFoundError('an older server')
        return facts['port']

    def wait(self, action, seconds=120):
        """Until the action raises no OSError."""
        end = time.monotonic() + seconds
        while True:
            try:
                return action()
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def request(self, path, body=None, method=None, headers={}):
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(urllib.request.Request(
            self.url + path, data, {'Content-Type': 'application/json', **headers}, method=method), timeout=120)

    def call(self, path, body=None, method=None):
        with self.request(path, body, method) as answer:
            return json.loads(answer.read() or b'null')

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, 'the server ends cleanly when asked'


class OpenAITest(unittest.TestCase):
    """A server of its own, and the `openai` package's client for it."""

    @classmethod
    def setUpClass(cls):
        cls.server = RunningServer()
        cls.client = need('openai').OpenAI(base_url=cls.server.url + '/v1', api_key='any', max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
