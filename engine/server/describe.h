#pragma once

/* Members that descriptions of models and cores share. */

#include "engine/library/library.h"
#include <json-glib/json-glib.h>

/* The member from_key of `from` under key, or null where there is none. */
void sundog_describe_copy(JsonObject *object, const char *key, JsonObject *from,
                          const char *from_key);
/* The text under key, or null where it is NULL. */
void sundog_describe_text(JsonObject *object, const char *key, const char *text);
/* A new object with name, bytes, damaged and problem. */
JsonObject *sundog_describe_entry(const SundogLibraryEntry *entry);
