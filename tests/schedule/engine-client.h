#pragma once

/*
 * For tests: a real sundog-engine over a core that is prepared at first need, driven through its pipe.
 * Anything unexpected ends the test, waiting too long too.
 */

#include "engine/wire/engine-process.h"
#include "tests/schedule/answers.h"

typedef struct {
    SundogEngineProcess *process;
    Answers *answers;
    GMainLoop *loop;
    bool ended;
    int exit_status;
    int signal;
    uint64_t last_id;
} EngineClient;

/* Prepares a core of a GGUF file in the test's HOME, once; returns its folder, and that of the keys. */
const char *engine_client_get_core(const char *gguf);
const char *engine_client_get_keys(void);

/* Starts the engine with further arguments up to a NULL, and waits for READY or the end. */
void engine_client_start(EngineClient *client, const char *program, const char *core,
                         ...) G_GNUC_NULL_TERMINATED;
/* Ends the engine where it still runs. */
void engine_client_clear(EngineClient *client);

/* Sends the request with the next id. */
Answer *engine_client_submit(EngineClient *client, const SundogSubmit *submit);
void engine_client_cancel(EngineClient *client, const Answer *answer);
/* Waits until the condition holds, which is asked after every frame and at the engine's end. */
void engine_client_wait(EngineClient *client, bool (*holds)(const void *data), const void *data);
void engine_client_wait_ended(EngineClient *client, const Answer *answer);
void engine_client_wait_tokens(EngineClient *client, const Answer *answer, uint32_t n_tokens);
/* Waits for the end of the process. */
void engine_client_wait_exit(EngineClient *client);
