#pragma once

/*
 * The real server in the test's process, on a thread of its own, with a tiny core in the library and a
 * scripted engine. The tiny vocabulary has a token for each byte (token N is byte N), and control
 * tokens from 256 on.
 */

#include "engine/server/server.h"
#include "tests/server/client.h"
#include <time.h>

#define TINY_IM_START 256
#define TINY_IM_END 257
#define TINY_END_OF_TEXT 258
#define TINY_FIM_PREFIX 259
#define TINY_FIM_SUFFIX 260
#define TINY_FIM_MIDDLE 261

typedef struct {
    GThread *thread;
    clockid_t clock; /* of the processor's time on that thread */
    GMainContext *context;
    GMainLoop *loop;
    SundogServer *server;
    SundogServerOptions options;
    GError *error; /* why it did not start */
    uint16_t port;
    int is_stopped; /* by itself, as asked over HTTP; atomic */
    GMutex mutex;
    GCond started;
} Harness;

/* Takes the path of the scripted engine from the arguments. In main, before anything else. */
void harness_init(int *argc, char ***argv);
const char *harness_get_engine(void);
/* Makes the core NAME in the library, with this script for the engine (NULL: none). */
void harness_make_core(const char *name, const char *script);
/* Writes the script of the core anew; it holds from the engine's next start on. */
void harness_set_script(const char *name, const char *script);
/* Changes a setting, for servers started after it; value NULL: back to the default. */
void harness_set(const char *key, const char *value);
/* What the engine logged, as it is. Owned by the caller. */
char *harness_dup_engine_log(const char *name);
/* How often the text stands in it. */
guint harness_count_in_log(const char *name, const char *text);
/* Waits until it does so often; the test fails after HARNESS_WAIT_US. */
void harness_wait_for_log(const char *name, const char *text, guint times);

/* Opens the gate that "gate" and "gate_at" of the script name; set_script closes it. */
void harness_open_gate(const char *name);
/* Waits until so many requests that are over have this state; the test fails after HARNESS_WAIT_US. */
void harness_wait_for_ended(const Harness *harness, const char *state, guint times);
/* The process of its last start. */
int harness_get_engine_pid(const char *name);

/* Far more than anything takes, also under the sanitizers on a busy machine: what waits longer hangs. */
#define HARNESS_WAIT_US (100 * G_USEC_PER_SEC)

/* Starts a server; core NULL: none fixed. The error is kept. */
Harness *harness_start(const char *core);
Harness *harness_start_with(const SundogServerOptions *options);
void harness_stop(Harness *harness);
/* Of a thread or a process: the same however busy the machine is. */
double harness_get_processor_us(clockid_t clock);
/* Waits until /health says 200; the test fails after HARNESS_WAIT_US. */
void harness_wait_ready(const Harness *harness);

/* The bytes of a text as a script's tokens: [N, …] */
char *harness_dup_tokens(const char *text);
/* {"model": "tiny", "messages": [user: text], "stream": true, further members} */
char *harness_dup_chat(const char *text, const char *members);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Harness, harness_stop)
