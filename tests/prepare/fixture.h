#pragma once

/* For tests: what the scripts beside this wrote with transformers. */

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdint.h>

typedef struct {
    int32_t *tokens; /* [n_tokens] */
    int32_t n_tokens;
    int32_t *greedy; /* [n_greedy] the tokens after them */
    int32_t n_greedy;
    float *logits; /* [n_logit_rows, n_logit_columns] */
    int32_t n_logit_rows;
    int32_t n_logit_columns;
} Fixture;

/* Parses a file below tests/prepare; ends the test where it cannot. Unref the node. */
JsonNode *fixture_load(const char *name);
void fixture_init(Fixture *fixture, JsonObject *object);
void fixture_clear(Fixture *fixture);
/* A member that is a list of whole numbers; free it. */
int32_t *fixture_dup_numbers(JsonObject *object, const char *name, int32_t *n);
/* The path of a file below tests/prepare; free it. */
char *fixture_dup_path(const char *name);
