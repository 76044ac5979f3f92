/*
 * The life of requests across server and engine: two requests of two tokens, cancelled at any moment or
 * not at all, preempted, with an engine that may die twice anywhere.
 *
 * Abstracts, of engine/server: start_process(), on_ended(), submit_to_process() and resubmitting in
 * engine.c, sundog_engine_take_frame() in engine-frames.c, sundog_generation_feed(); of engine/schedule:
 * sundog_scheduler_submit(), sundog_scheduler_cancel(), sundog_scheduler_admit_waiting(),
 * preempt_youngest(), sundog_scheduler_take_results(). A frame that the engine wrote before it died is
 * still read; what it had not read is lost with it.
 *
 * Holds: each request ends exactly once, whatever happens; its tokens come in order, none twice and
 * none left out.
 */

#define N_REQUESTS 2
#define N_TOKENS 2
#define MAX_DEATHS 2

mtype = { SUBMIT, CANCEL, TOKEN, FINISH, CANCELLED };

chan to_engine = [8] of { mtype, byte, byte };
chan to_server = [8] of { mtype, byte, byte };

/* The server's view. */
bool over[N_REQUESTS];
byte n_ends[N_REQUESTS];
byte n_produced[N_REQUESTS];

/* The engine's. */
mtype = { ABSENT, WAITING, RUNNING };
mtype place[N_REQUESTS] = ABSENT;
byte n_known[N_REQUESTS];
bool dead;
byte n_deaths;

inline end_request(r)
{
    over[r] = true;
    n_ends[r]++
}

inline submit(r)
{
#ifdef FAULT /* forgets what was produced before the death */
    to_engine!SUBMIT, r, 0
#else
    to_engine!SUBMIT, r, n_produced[r]
#endif
}

/* One frame of the engine; one of a request that is over is ignored. */
inline take_frame()
{
    to_server?kind, request, index ->
    if
    :: over[request] -> skip
    :: !over[request] && kind == TOKEN ->
        assert(index == n_produced[request]);
        n_produced[request]++
    :: !over[request] && kind == FINISH ->
        assert(n_produced[request] == N_TOKENS);
        end_request(request)
    :: !over[request] && kind == CANCELLED ->
        assert(false) /* only the server asks for it, and then the request is over */
    fi
}

/* The pipe has ended and is read to its end: a new engine, and what is not over goes to it. */
inline restart()
{
    do
    :: nempty(to_engine) -> to_engine?kind, request, index
    :: empty(to_engine) -> break
    od;
    dead = false;
    i = 0;
    do
    :: i < N_REQUESTS && !over[i] -> submit(i); i++
    :: i < N_REQUESTS && over[i] -> i++
    :: i == N_REQUESTS -> break
    od
}

active proctype server()
{
    mtype kind;
    byte request, index, i;
    atomic { submit(0); submit(1) };
end:
    do
    :: atomic { nempty(to_server) -> take_frame() }
    :: atomic { empty(to_server) && dead -> restart() }
    od
}

/* A client that leaves, or does not. */
active [N_REQUESTS] proctype client()
{
    byte request = _pid - 1;
    if
    :: atomic {
        !over[request] ->
        end_request(request);
        if
        :: nfull(to_engine) -> to_engine!CANCEL, request, 0
        fi
    }
    :: skip
    fi
}

inline forget_all()
{
    i = 0;
    do
    :: i < N_REQUESTS -> place[i] = ABSENT; i++
    :: i == N_REQUESTS -> break
    od
}

active proctype engine()
{
    mtype kind;
    byte r, n, i;
end:
    do
    :: atomic {
        !dead && nempty(to_engine) ->
        to_engine?kind, r, n;
        if
        :: kind == SUBMIT ->
            assert(place[r] == ABSENT);
            place[r] = WAITING;
            n_known[r] = n
        :: kind == CANCEL && place[r] != ABSENT ->
            place[r] = ABSENT;
            to_server!CANCELLED, r, 0
        :: kind == CANCEL && place[r] == ABSENT -> skip
        fi
    }
    :: atomic { !dead && place[0] == WAITING -> place[0] = RUNNING }
    :: atomic { !dead && place[1] == WAITING -> place[1] = RUNNING }
    :: atomic { !dead && place[0] == RUNNING && place[1] == RUNNING -> place[1] = WAITING }
    :: atomic {
        !dead && (place[0] == RUNNING || place[1] == RUNNING) && len(to_server) < 6 ->
        if
        :: place[0] == RUNNING -> r = 0
        :: place[1] == RUNNING -> r = 1
        fi;
        if
        :: n_known[r] < N_TOKENS ->
            to_server!TOKEN, r, n_known[r];
            n_known[r]++
        :: else -> skip
        fi;
        if
        :: n_known[r] == N_TOKENS -> to_server!FINISH, r, 0; place[r] = ABSENT
        :: else -> skip
        fi
    }
    :: atomic { !dead && n_deaths < MAX_DEATHS -> dead = true; n_deaths++; forget_all() }
    od
}

/* When nothing can happen any more, all is over. */
active proctype judge()
{
    timeout ->
    assert(n_ends[0] == 1 && n_ends[1] == 1)
}
