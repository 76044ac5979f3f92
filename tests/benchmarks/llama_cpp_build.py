"""llama.cpp's programs, built from its source package in the tests' cache: for this processor, or for AVX2."""

import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.environ.get('SUNDOG_TEST_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'sundog-tests')
OPTIONS = ['-DCMAKE_BUILD_TYPE=Release', '-DLLAMA_CURL=OFF', '-DLLAMA_OPENSSL=OFF', '-DLLAMA_BUILD_TESTS=OFF',
           '-DLLAMA_BUILD_EXAMPLES=OFF', '-DLLAMA_BUILD_SERVER=OFF']
# What a processor may use -> options, folder.
INSTRUCTIONS = {
    'all': (['-DGGML_NATIVE=ON'], 'llama.cpp-build'),
    'avx2': (['-DGGML_NATIVE=OFF'] + [f'-DGGML_{name}=ON' for name in ['AVX', 'AVX2', 'FMA', 'F16C', 'BMI2']],
             'llama.cpp-build-avx2'),
}


def build(target, instructions='all'):
    """The path of a program, built where it is missing."""
    options, name = INSTRUCTIONS[instructions]
    source = subprocess.run([os.path.join(SOURCE, 'tests/fetch'), 'llama-cpp-source'], check=True,
                            capture_output=True, text=True).stdout.strip().split('\n')[-1]
    folder = os.path.join(CACHE, name)
    program = os.path.join(folder, 'bin', target)
    if not os.path.exists(program):
        print(f'building {target}, some minutes…', file=sys.stderr)
        subprocess.run(['cmake', '-B', folder, '-S', source, *OPTIONS, *options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['cmake', '--build', folder, '-j2', '--target', target], check=True, stdout=subprocess.DEVNULL)
    return program
