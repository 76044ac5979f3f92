/*
 * A record's file under two engines that write it, each of which may be killed at any instruction, one
 * that evicts, and one that reads; and a machine that may lose power once, which leaves of a file that was
 * renamed but not synced any part.
 *
 * Abstracts sundog_prefix_record_write() and sundog_prefix_record_read() of engine/format/prefix-record.c,
 * evict() of engine/cache/record-store.c.
 *
 * Holds: a reader takes the whole record or none.
 */

#define N_PARTS 2 /* of a record, as they are written */

/* Files by what is in them: parts in order, or torn. The record's own name is file 0, that beside it of
 * writer w is w. */
bool there[3];
byte n_parts[3];
bool torn[3];
bool lost_power;

active [2] proctype writer()
{
    byte me = _pid + 1;
    /* Created anew, whatever a dead one left. */
    atomic { there[me] = true; n_parts[me] = 0; torn[me] = false };
    do
    :: n_parts[me] < N_PARTS && there[me] -> n_parts[me]++
    :: n_parts[me] == N_PARTS -> break
    :: goto killed
    od;
    if
    :: atomic { there[0] = true; n_parts[0] = n_parts[me]; torn[0] = torn[me]; there[me] = false }
    :: goto killed
    fi;
killed:
    skip
}

active proctype evictor()
{
    do
    :: there[0] = false
    :: break
    od
}

active proctype power()
{
    if
    :: atomic {
        lost_power = true;
        if
        :: there[0] -> torn[0] = true
        :: else -> skip
        fi
    }
    :: skip
    fi
}

/* An open file stays what it was, whatever happens to its name. */
active proctype reader()
{
    bool taken, is_torn;
    byte n;
    if
    :: atomic { there[0] -> n = n_parts[0]; is_torn = torn[0] };
#ifdef FAULT /* believes the name */
        taken = true
#else
        taken = (n == N_PARTS && !is_torn) /* the hash over all of it says so */
#endif
    :: !there[0] -> taken = false
    fi;
    assert(!taken || (n == N_PARTS && !is_torn))
}
