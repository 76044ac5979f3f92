"""llama.cpp's programs, built from its source package for this processor, in the tests' cache."""

import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.environ.get('SUNDOG_TEST_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'sundog-tests')
OPTIONS = ['-DCMAKE_BUILD_TYPE=Release', '-DGGML_NATIVE=ON', '-DLLAMA_CURL=OFF', '-DLLAMA_OPENSSL=OFF',
           '-DLLAMA_BUILD_TESTS=OFF', '-DLLAMA_BUILD_EXAMPLES=OFF', '-DLLAMA_BUILD_SERVER=OFF']


def build(target):
    """The path of a program, built where it is missing."""
    source = subprocess.run([os.path.join(SOURCE, 'tests/fetch'), 'llama-cpp-source'], check=True,
                            capture_output=True, text=True).stdout.strip().split('\n')[-1]
    folder = os.path.join(CACHE, 'llama.cpp-build')
    program = os.path.join(folder, 'bin', target)
    if not os.path.exists(program):
        print(f'building {target}, some minutes…', file=sys.stderr)
        subprocess.run(['cmake', '-B', folder, '-S', source, *OPTIONS], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['cmake', '--build', folder, '-j2', '--target', target], check=True, stdout=subprocess.DEVNULL)
    return program
