#pragma once

/*
 * An engine as a child process, seen from the client: `PROGRAM CORE --keys FOLDER …` with frames on
 * its standard input and output. Used by the server's supervisor and by `sundog run`, `chat` and
 * `bench`.
 *
 * Start, send frames, get callbacks for frames and for the end, free. All on one thread: callbacks
 * come from the GMainContext that is the thread's default when the child is started. Nothing here
 * blocks. The child dies with the *thread* that started it (the kernel ties the parent-death signal
 * to the thread), so start it from a thread that lives as long as the engine is wanted, as the main
 * thread does. The process must ignore SIGPIPE.
 */

#include "engine/wire/messages.h"
#include <sys/types.h>

/* What the queue of unwritten frames may hold, and lines of standard error that are kept. */
#define SUNDOG_ENGINE_QUEUE_BYTES (256u << 20)
#define SUNDOG_ENGINE_LOG_LINES 20

typedef struct SundogEngineProcess SundogEngineProcess;

/* How a child ended. Texts are borrowed for the time of the callback. */
typedef struct {
    bool wanted;      /* a stop was asked for before */
    int exit_status;  /* or -1 where a signal ended it */
    int signal;       /* or 0 */
    bool is_killed;   /* by a SIGKILL that this side did not send */
    GError *error;    /* SUNDOG_WIRE_ERROR_MALFORMED where the child broke the wire, or NULL */
    const char *log;  /* last lines of standard error, valid UTF-8, maybe "" */
    const char *text; /* all of it for a person: "the engine was ended by signal 9 (Killed); …" */
} SundogEngineEnd;

typedef struct {
    const char *program;          /* path of sundog-engine or of a scripted one */
    const char *const *arguments; /* after the program's name, NULL-terminated; or NULL */
    unsigned stop_ms;             /* from SHUTDOWN to SIGTERM, and then to SIGKILL; 0 is 5,000 */
    /* A whole frame of the child; the payload is borrowed. */
    void (*frame)(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data);
    /* A line of standard error, without its end, as valid UTF-8; may be NULL. */
    void (*log)(SundogEngineProcess *process, const char *line, void *data);
    /* Once, after the last frame and with the child reaped. */
    void (*ended)(SundogEngineProcess *process, const SundogEngineEnd *end, void *data);
    void *data;
} SundogEngineProcessOptions;

/* Starts the child. On failure (not found, not executable, no more processes) NULL and an error of
 * G_SPAWN_ERROR or G_IO_ERROR; no callback comes then. */
SundogEngineProcess *sundog_engine_process_start(const SundogEngineProcessOptions *options,
                                                 GError **error);
/* Frees from any callback too; a child that still runs is killed and reaped, and nothing is called
 * back any more. Accepts NULL. */
void sundog_engine_process_free(SundogEngineProcess *process);

pid_t sundog_engine_process_get_pid(const SundogEngineProcess *process);
bool sundog_engine_process_is_running(const SundogEngineProcess *process);
/* Last lines of standard error; owned by the caller. */
char *sundog_engine_process_dup_log(const SundogEngineProcess *process);

/* Queues one frame and writes what the pipe takes now. Sinks a floating payload. False where the
 * child has ended or does not read and the queue is full: SUNDOG_WIRE_ERROR_CLOSED. */
bool sundog_engine_process_send(SundogEngineProcess *process, uint32_t type, GVariant *payload,
                                GError **error);

/* Ends the child in bounded time: a SHUTDOWN, then after stop_ms SIGTERM, after stop_ms more
 * SIGKILL. With `now`, end of input and SIGTERM at once, SIGKILL after stop_ms. Then `ended` comes
 * as always. Repeated calls only hasten. */
void sundog_engine_process_stop(SundogEngineProcess *process, bool now);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogEngineProcess, sundog_engine_process_free)
