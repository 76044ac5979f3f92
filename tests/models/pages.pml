/*
 * Who owns a page: a pool of three, a tree of prefixes, and two sequences of two pages each whose first
 * pages hold the same tokens. Any order of opening, growing, finishing a page, closing and evicting.
 *
 * Abstracts, of engine/cache: sundog_cache_open_sequence(), sundog_cache_reserve(),
 * sundog_cache_advance(), sundog_cache_close_sequence() in cache.c; sundog_prefix_tree_insert(),
 * sundog_prefix_tree_pin(), sundog_prefix_tree_unpin(), sundog_prefix_tree_evict() in prefix-tree.c;
 * page-pool.c.
 *
 * Holds after each: every page is free, in the tree or one sequence's own; a page is pinned as often as
 * sequences stand on it; only pages that nobody stands on are evicted, children first; what is written is
 * one sequence's own.
 */

#define N_PAGES 3
#define N_SEQUENCES 2
#define DEPTH 2
#define NONE 255

mtype = { FREE, OWN, TREE };

mtype where[N_PAGES] = FREE;
byte owner[N_PAGES] = NONE;
byte content[N_PAGES]; /* 1: what both begin with; 2 + s: the second page of sequence s */
byte parent[N_PAGES] = NONE;
byte n_pins[N_PAGES];

/* table[s * DEPTH + d] */
byte table[4] = NONE;
byte n_table[N_SEQUENCES];
byte n_shared[N_SEQUENCES];
byte n_valid[N_SEQUENCES];
bool is_open[N_SEQUENCES];

#define wanted(s, d) ((d) == 0 -> 1 : 2 + (s))
#define above(s, d) ((d) == 0 -> NONE : table[(s) * DEPTH])
#define has_child(p) ((where[0] == TREE && parent[0] == p) || (where[1] == TREE && parent[1] == p) || \
                      (where[2] == TREE && parent[2] == p))

/* The page of the tree with that content, or NONE. */
inline find(c)
{
    found = NONE;
    p = 0;
    do
    :: p < N_PAGES ->
        if
        :: where[p] == TREE && content[p] == c -> found = p
        :: else -> skip
        fi;
        p++
    :: else -> break
    od
}

inline open_sequence(s)
{
    is_open[s] = true;
    d = 0;
    do
    :: d < DEPTH ->
        find(wanted(s, d));
        if
        :: found == NONE -> break
        :: else ->
            table[s * DEPTH + d] = found;
            n_pins[found]++;
            d++
        fi
    :: else -> break
    od;
    n_table[s] = d;
    n_shared[s] = d;
    n_valid[s] = d
}

/* A free page, or one that is evicted. */
inline reserve(s)
{
    found = NONE;
    p = 0;
    do
    :: p < N_PAGES ->
        if
        :: where[p] == FREE -> found = p
        :: else -> skip
        fi;
        p++
    :: else -> break
    od;
    p = 0;
    do
    :: found == NONE && p < N_PAGES ->
        if
#ifdef FAULT /* looks for leaves, and not for those who stand on them */
        :: where[p] == TREE && !has_child(p) -> found = p
#else
        :: where[p] == TREE && n_pins[p] == 0 && !has_child(p) -> found = p
#endif
        :: else -> skip
        fi;
        p++
    :: else -> break
    od;
    if
    :: found != NONE ->
        assert(n_pins[found] == 0);
        where[found] = OWN;
        owner[found] = s;
        parent[found] = NONE;
        content[found] = 0;
        table[s * DEPTH + n_table[s]] = found;
        n_table[s]++
    :: else -> skip
    fi
}

/* A step has filled the page: the tree takes it, or has the same already. */
inline advance(s)
{
    d = n_valid[s];
    own = table[s * DEPTH + d];
    assert(where[own] == OWN && owner[own] == s);
    find(wanted(s, d));
    if
    :: found == NONE ->
        where[own] = TREE;
        owner[own] = NONE;
        content[own] = wanted(s, d);
        parent[own] = above(s, d);
        found = own
    :: else ->
        where[own] = FREE;
        owner[own] = NONE
    fi;
    table[s * DEPTH + d] = found;
    n_pins[found]++;
    n_shared[s]++;
    n_valid[s]++
}

inline close_sequence(s)
{
    d = n_table[s];
    do
    :: d > n_shared[s] ->
        d--;
        where[table[s * DEPTH + d]] = FREE;
        owner[table[s * DEPTH + d]] = NONE;
        table[s * DEPTH + d] = NONE
    :: else -> break
    od;
    do
    :: d > 0 ->
        d--;
        n_pins[table[s * DEPTH + d]]--;
        table[s * DEPTH + d] = NONE
    :: else -> break
    od;
    n_table[s] = 0;
    n_shared[s] = 0;
    n_valid[s] = 0;
    is_open[s] = false
}

inline check()
{
    p = 0;
    do
    :: p < N_PAGES ->
        n = (is_open[0] && n_shared[0] > 0 && table[0] == p -> 1 : 0) +
            (is_open[0] && n_shared[0] > 1 && table[1] == p -> 1 : 0) +
            (is_open[1] && n_shared[1] > 0 && table[2] == p -> 1 : 0) +
            (is_open[1] && n_shared[1] > 1 && table[3] == p -> 1 : 0);
        assert(n_pins[p] == n);
        assert(where[p] == TREE || n_pins[p] == 0);
        assert(where[p] != TREE || parent[p] == NONE || where[parent[p]] == TREE);
        assert(where[p] != OWN || owner[p] < N_SEQUENCES);
        p++
    :: else -> break
    od
}

active proctype cache()
{
    byte s, p, d, n, found, own;
    do
    :: atomic {
        select(s : 0 .. 1);
        if
        :: !is_open[s] -> open_sequence(s)
        :: is_open[s] && n_table[s] < DEPTH -> reserve(s)
        :: is_open[s] && n_valid[s] < n_table[s] -> advance(s)
        :: is_open[s] -> close_sequence(s)
        fi;
        check();
        p = 0; d = 0; n = 0; found = 0; own = 0
    }
    od
}
