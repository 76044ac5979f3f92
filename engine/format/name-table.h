#pragma once

/* Names that stand in files of models: of tensors, of metadata. Private to this house and the model's. */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest published name has under two hundred. */
#define SUNDOG_NAME_MAX_BYTES 1024

/* A table by name, which owns its names. Its hash is keyed at random: names come from outside, and a
 * file must not be able to choose ones that collide. */
GHashTable *sundog_name_table_new(GDestroyNotify value_free);

/* Names are shown to people and used as keys: 1 to SUNDOG_NAME_MAX_BYTES bytes of UTF-8 without control
 * characters. */
bool sundog_name_is_good(const char *name, size_t n_bytes);
