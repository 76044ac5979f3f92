#pragma once

/*
 * Tools in chats: calls in the form that a template takes, and, for a template that takes none, tools
 * explained in a system turn and calls and results written as text.
 */

#include <json-glib/json-glib.h>
#include <stdbool.h>

/* Replaces the calls of one message by copies with arguments as an object or as text. Without calls the
 * member is removed. False with an error of the template's domain that names index and key. */
bool sundog_chat_convert_calls(JsonObject *message, unsigned index, bool as_text, GError **error);

/* The messages with the tools explained in the first system turn, calls as text of the assistant and
 * results as turns of the user; owned by the caller. tools may be NULL. */
JsonArray *sundog_chat_explain_tools(JsonArray *messages, JsonArray *tools);
