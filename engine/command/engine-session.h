#pragma once

/*
 * One engine, driven by a command: started on a core, asked, waited for. Everything happens on the
 * calling (main) thread, which runs the loop inside these calls.
 *
 * Usage: open (waits until the engine is ready), ask as often as wanted, free.
 */

#include "engine/library/library.h"
#include "engine/server/core-text.h"
#include "engine/wire/engine-process.h"

typedef struct SundogEngineSession SundogEngineSession;

typedef struct {
    int64_t n_threads;      /* 0: as configured */
    int64_t context_length; /* 0: as configured */
    const char *draft;      /* name of a small core that drafts; NULL: as configured for this one */
    GCancellable *cancellable; /* ends what waits; may be NULL */
} SundogEngineSessionOptions;

/* entry: a core of the library. Tells progress on the terminal. */
SundogEngineSession *sundog_engine_session_open(SundogLibrary *library,
                                                const SundogLibraryEntry *entry,
                                                const SundogEngineSessionOptions *options,
                                                GError **error);
void sundog_engine_session_free(SundogEngineSession *session);

const SundogReady *sundog_engine_session_get_ready(const SundogEngineSession *session);
/* Whether the engine is gone, after which every question fails. */
bool sundog_engine_session_has_ended(const SundogEngineSession *session);
pid_t sundog_engine_session_get_pid(const SundogEngineSession *session);
/* The core's tokenizer, template and sampling profile; borrowed. */
const SundogCoreText *sundog_engine_session_get_text(const SundogEngineSession *session);

/* Called for each token as it comes; false asks for the end. */
typedef bool (*SundogEngineToken)(uint32_t token, void *data);

/* Sends the request (its id is set here) and waits for its end. Cancelled: the finish says so. */
bool sundog_engine_session_ask(SundogEngineSession *session, SundogSubmit *submit,
                               SundogEngineToken on_token, void *data, SundogFinish *finish,
                               GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogEngineSession, sundog_engine_session_free)
