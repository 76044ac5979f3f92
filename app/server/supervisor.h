#pragma once

/*
 * Keeps a server at hand: attaches to one that already runs (by its server file), or starts
 * `sundog serve --parent` and starts it again when it dies. Its address and key are handed to the
 * client. A server that it started ends with the app; one that it found is left alone, unless its
 * program or configuration has changed since: then it is stopped and replaced.
 *
 * Order: new, start, and stop before the app ends. "notify::state" tells of changes. Main thread;
 * nothing here blocks.
 */

#include "app/server/client.h"

typedef enum {
    SUNDOG_SUPERVISOR_STOPPED,
    SUNDOG_SUPERVISOR_SEARCHING, /* looking for a running server */
    SUNDOG_SUPERVISOR_STARTING,  /* the child has not yet published its address */
    SUNDOG_SUPERVISOR_READY,     /* the client may call */
    SUNDOG_SUPERVISOR_WAITING,   /* it died; the next start comes by itself */
    SUNDOG_SUPERVISOR_FAILED,    /* it died too often; start tries again */
} SundogSupervisorState;

#define SUNDOG_TYPE_SUPERVISOR (sundog_supervisor_get_type())
G_DECLARE_FINAL_TYPE(SundogSupervisor, sundog_supervisor, SUNDOG, SUPERVISOR, GObject)

/* `program` is the path of `sundog`. */
SundogSupervisor *sundog_supervisor_new(SundogClient *client, const char *program);
void sundog_supervisor_start(SundogSupervisor *supervisor);
/* Looks again whether the server is still there; called when a stream to it broke. */
void sundog_supervisor_check(SundogSupervisor *supervisor);
/* Ends the server where it is a child of ours; the one we found goes on. */
void sundog_supervisor_stop(SundogSupervisor *supervisor);

SundogSupervisorState sundog_supervisor_get_state(SundogSupervisor *supervisor);
/* True where the server is a child of this app. */
bool sundog_supervisor_owns_server(SundogSupervisor *supervisor);
/* The last lines that a server of ours wrote before it died, or NULL; borrowed. */
const char *sundog_supervisor_get_problem(SundogSupervisor *supervisor);
