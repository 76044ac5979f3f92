#pragma once

/* For tests that ask a server whose core answers each request with "Hello" in a context of 64 tokens. */

#include "tests/server/harness.h"

/* Of the engine. */
extern const char fixture_script[];

typedef struct {
    Harness *harness;
} Fixture;

/* Adds a test with a server of its own, which is ready when the test begins. */
void fixture_add(const char *path, void (*test)(Fixture *fixture, const void *data));
