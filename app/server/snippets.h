#pragma once

/* Ready-made lines that reach this server from other tools. */

/* A NULL-terminated list of the tools' names, and the text for one of them; the text is owned by the
 * caller, `key` and `core` may be NULL. */
const char *const *sundog_snippets_get_names(void);
char *sundog_snippets_dup(unsigned index, const char *address, const char *key, const char *core);
