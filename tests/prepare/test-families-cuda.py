#!/usr/bin/env python3
"""Each tiny model, prepared for a GPU: a core whose launch lists pass all checks, or a refusal by name. Some keep
keys and values in 8 bits too.

Needs no GPU. What the kernels compute is held to the host on one, by `sundog verify`.
"""

import os
import subprocess
import sys
import tempfile

SOURCE = os.environ['SUNDOG_SOURCE']
SUNDOG = os.path.join(os.environ['SUNDOG_BUILD'], 'sundog')
FOLDERS = [os.path.join(SOURCE, 'tests/prepare', name) for name in ('tiny', 'pooled')]
# Windows with pages of their own, latents, and heads that another kernel knows.
NARROW = ['gemma3', 'deepseek2', 'q8_0-head-128']
TARGET = 'sm_90a'
# Model -> what it waits for.
REFUSED = {
    'tq2_0-refused': 'for which there are no kernels',
}


def run(*arguments):
    return subprocess.run([SUNDOG, *arguments], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


def check(model, folder, *options):
    """What is wrong, or None."""
    name = os.path.basename(model)
    core = os.path.join(folder, '-'.join(['core', name, *options]))
    done = run('prepare', model if os.path.isdir(model) else model + '.gguf', '--target', TARGET, '-o', core, *options)
    reason = REFUSED.get(name)
    if reason:
        return None if done.returncode != 0 and reason in done.stdout else done.stdout
    if done.returncode != 0:
        return done.stdout
    # Opens the core, which checks its launch lists against its programs.
    done = run('inspect', core)
    return None if done.returncode == 0 and TARGET in done.stdout else done.stdout


def list_models():
    return sorted({os.path.join(folder, entry.removesuffix('.gguf').removesuffix('.json'))
                   for folder in FOLDERS for entry in os.listdir(folder)})


def main():
    models = [(model,) for model in list_models()]
    models += [(os.path.join(FOLDERS[0], name), '--cache=q8') for name in NARROW]
    with tempfile.TemporaryDirectory() as folder:
        probe = run('prepare', os.path.join(FOLDERS[0], 'q8_0-head-128.gguf'), '--target', TARGET, '-o',
                    os.path.join(folder, 'probe'))
        if 'carries no kernels for the target' in probe.stdout:
            print(f'1..0 # SKIP built without kernels for {TARGET}')
            return 0
        print(f'1..{len(models)}')
        n_faults = 0
        for i, (model, *options) in enumerate(models):
            fault = check(model, folder, *options)
            print(f'{"not ok" if fault else "ok"} {i + 1} {" ".join([os.path.basename(model), *options])}')
            n_faults += bool(fault)
            if fault:
                print('# ' + fault.strip().replace('\n', '\n# '))
    unknown = set(REFUSED) - {os.path.basename(model) for model, *_ in models}
    assert not unknown, f'no such models: {unknown}'
    return 1 if n_faults else 0


if __name__ == '__main__':
    sys.exit(main())
