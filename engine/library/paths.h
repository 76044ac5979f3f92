#pragma once

/*
 * Where things lie, by the XDG base directories; every folder is made (0700) when first asked for.
 *   data    $XDG_DATA_HOME/sundog      models/, cores/, keys/, chats.db (the app's)
 *   config  $XDG_CONFIG_HOME/sundog    config.json, api-keys.json
 *   cache   $XDG_CACHE_HOME/sundog     fits/, prefixes/: deletable
 *   state   $XDG_STATE_HOME/sundog     jobs.json, requests.jsonl
 *   runtime $XDG_RUNTIME_DIR/sundog    server.json (0600); without one, the state folder
 * Returned strings are interned and need no free.
 */

#include <glib.h>
#include <stdbool.h>

const char *sundog_paths_get_models(void);
const char *sundog_paths_get_cores(void);
const char *sundog_paths_get_keys(void);
const char *sundog_paths_get_config_file(void);
const char *sundog_paths_get_api_keys_file(void);
const char *sundog_paths_get_cache(void);
const char *sundog_paths_get_records(void);
const char *sundog_paths_get_state(void);
const char *sundog_paths_get_request_log(void);
const char *sundog_paths_get_server_file(void);
/* A file of data/ as installed (PREFIX/share/sundog/NAME) or in the build tree (BUILD/data/NAME),
 * found from where the running program lies; NULL where there is none. Owned by the caller. */
char *sundog_paths_dup_data_file(const char *name);
/* A program of this project beside the running one ("sundog-engine"); owned by the caller. */
char *sundog_paths_dup_program(const char *name);
/* The folder that an uninstaller may take away: what holds bin/, or the build folder. Owned by the
 * caller; NULL where it cannot be told. */
char *sundog_paths_dup_install_prefix(void);
