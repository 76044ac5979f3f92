#pragma once

/*
 * What the scripted engine plays: a JSON object of which every member is optional, a log beside it to which
 * each event is appended as one JSON object a line, and a gate, which is open while its file is there: so a
 * test decides what happens first, however fast the machine is. scripted-engine.c says what members mean.
 *
 * One script a process; errors end it.
 */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* That of this core: the file itself, else CORE/script.json, else CORE.json, else one without members.
 * Counts its starts in the log. */
void script_open(const char *core);

/* A member of the script, as it holds at this start; borrowed. NULL: there is none. */
JsonNode *script_find(const char *name);
JsonObject *script_find_object(const char *name);
/* A member of an object, which may be NULL. */
JsonNode *script_member(JsonObject *object, const char *name);
int64_t script_get_int(JsonObject *object, const char *name, int64_t otherwise);
const char *script_get_text(JsonObject *object, const char *name, const char *otherwise);
bool script_get_bool(JsonObject *object, const char *name);

/* Appends a line to the log. */
void script_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* True once the gate is open; *held: whether the log has it that somebody waits. */
bool script_passes_gate(bool *held);
