#pragma once

/*
 * The models and cores that the server's library holds, and what its catalogue offers: fetched again
 * whenever the server tells that the library or what is loaded changed. Signal: "changed". Main thread.
 */

#include "app/server/server-feed.h"

#define SUNDOG_TYPE_SHELF (sundog_shelf_get_type())
G_DECLARE_FINAL_TYPE(SundogShelf, sundog_shelf, SUNDOG, SHELF, GObject)

SundogShelf *sundog_shelf_new(SundogClient *client, SundogServerFeed *feed);
void sundog_shelf_refresh(SundogShelf *shelf);
/* Asks the server to unload the core of this name; the feed tells when it has. */
void sundog_shelf_unload(SundogShelf *shelf, const char *core);
/* False until the server answered once. */
bool sundog_shelf_is_known(SundogShelf *shelf);
/* Arrays of objects as the private API gives them; NULL while not known. Borrowed until "changed". */
JsonArray *sundog_shelf_get_models(SundogShelf *shelf);
JsonArray *sundog_shelf_get_available(SundogShelf *shelf);
JsonArray *sundog_shelf_get_cores(SundogShelf *shelf);
/* The core of this name, or NULL. */
JsonObject *sundog_shelf_find_core(SundogShelf *shelf, const char *name);
/* Whether a core, as GET /sundog/v1/cores has it, can write text at all. */
bool sundog_shelf_is_for_chats(JsonObject *core);
/* The name of the core that answers where a chat asks for `wanted` (may be NULL): that one where it
 * exists, else the loaded one, else the first; NULL where there is none. Borrowed. */
const char *sundog_shelf_choose_core(SundogShelf *shelf, const char *wanted);
/* A model's or core's title for a person: its own, else that of the model it was made from; borrowed. */
const char *sundog_shelf_get_title(SundogShelf *shelf, JsonObject *entry);
