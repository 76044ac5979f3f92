#pragma once

/* A small, well-formed llama model as a GGUF file, for tests that then change one thing in it. */

#include "tests/format/gguf-builder.h"

/* Two layers, 64 hidden, 128 in the MLP, 4 heads over 2, 32 tokens. */
void model_fixture_build(GgufBuilder *builder);
