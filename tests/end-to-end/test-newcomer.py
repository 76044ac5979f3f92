#!/usr/bin/env python3
"""A newcomer's first and second minute: packaging/try without a display, from a home that is empty."""

import os
import re
import subprocess
import sys
import time

SOURCE = os.environ['SUNDOG_SOURCE']
QUESTION = 'Name the capital of Germany.'


def ask():
    start = time.monotonic()
    result = subprocess.run([os.path.join(SOURCE, 'packaging/try'), '--yes', '--headless', QUESTION],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    print(f'{seconds:.1f} s\n{result.stdout}\n{result.stderr}', flush=True)
    assert result.returncode == 0, f'exit status {result.returncode}'
    assert len(result.stdout.split('\n')[-2]) > 10, 'the answer is on standard output'
    assert re.search(r'[0-9.]+ tokens/s', result.stdout + result.stderr), 'its speed is told'
    return result


def main():
    ask()
    second = ask()
    for work in ['Building', 'Packages to install', 'out of reach', 'prepar']:
        assert work not in second.stdout + second.stderr, f'{work!r} was done again'


if __name__ == '__main__':
    sys.exit(main())
