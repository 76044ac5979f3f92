#pragma once

/*
 * A core opened for use: its manifest's numbers, programs, weights and text members, over a package
 * whose signature has been verified. Immutable after open; safe to share between threads.
 *
 * core.json beside the container's own fields (format, members):
 *   "features": ["host-2", …]   required features; an unknown one is refused by name
 *   "name", "target": "host" | "sm_…", "activations": "int8" | "f32" on the host, "int8" | "bf16" on CUDA, "created": RFC 3339, "engine": version
 *   "model": {"name", "architecture", "licence", "n_parameters", "context_length", "n_vocabulary",
 *             "file", "sha256", "bytes"}
 *   "purpose": "generate" | "embed" | "rerank"   what it is for; absent is "generate"
 *   "result": {"n_outputs", "n_token_types", "template", "prompts": {"query": TEXT, …}, "prompt": "query"}   where it is
 *             not "generate": how long a vector is, or how many scores there are; where pairs of texts stand in
 *             words of the makers', those, with {query} and {document}; and what is put before a text, by name,
 *             and the name that is meant where none is said
 *   "cache": [{"scheme": "paged", "page_tokens": 64, "dtype": "f16", "n_layers", "n_kv_heads",
 *              "head_dim", "page_bytes"},
 *             {"scheme": "window", "tokens", "page_bytes", "held_pages"},   where layers with a window have pages of
 *             their own: the last is the most that a sequence holds between steps
 *             {"scheme": "recurrent", "state_bytes"}]      where layers have such state; the list is empty where
 *             nothing is kept from step to step
 *   "variables": {"tokens": 512, …}          bounds, those of every program; 1 where absent
 *   "programs": ["forward", "sample", "reference"]   members programs/NAME; "sample" where it is for text, the last
 *                                             is the recipe's own unfused program, for verify alone
 *   "weights": [{"name", "layout", "n_rows", "n_columns", "offset", "bytes"}]  within weights/data
 *   "plan": {"arena_bytes", "weight_bytes"}   the arena of forward and sample; the reference's may be larger
 *   "text": {"vocabulary": "text/vocabulary", "template": "text/template" or null, "syntax": how the
 *            model writes calls and reasoning (see engine/text/output/output-syntax.h), may be absent}
 *   "sampling": {"default": {"temperature", "top_k", "top_p", "min_p", …}}
 *
 * A core for CUDA also has the members launches/NAME, a launch list for each program but the reference,
 * and kernels/NAME.cubin for the modules that they name.
 */

#include "engine/core/launch-list.h"
#include "engine/format/package.h"

#define SUNDOG_CORE_FEATURE_HOST "host-2"     /* panel layouts and operations of this engine */
#define SUNDOG_CORE_FEATURE_CUDA "cuda-2"     /* tile layouts and launch lists of this engine */
#define SUNDOG_CORE_FEATURE_RESULT "result-1" /* a purpose other than text */
#define SUNDOG_CORE_FEATURE_WINDOW "window-1" /* pages of their own for layers with a window */
#define SUNDOG_CORE_TARGET_HOST "host"
#define SUNDOG_CORE_ACTIVATIONS_BF16 "bf16"
#define SUNDOG_CORE_ACTIVATIONS_INT8 "int8"
#define SUNDOG_CORE_ACTIVATIONS_F32 "f32"
#define SUNDOG_CORE_WEIGHTS "weights/data"
#define SUNDOG_CORE_VOCABULARY "text/vocabulary"
#define SUNDOG_CORE_TEMPLATE "text/template"

typedef enum {
    SUNDOG_CORE_GENERATES,
    SUNDOG_CORE_EMBEDS,  /* gives a vector for a text */
    SUNDOG_CORE_RERANKS, /* scores a pair of texts */
} SundogCorePurpose;

typedef struct {
    const char *name;
    SundogLayout layout;
    int64_t n_rows;
    int64_t n_columns;
    uint64_t offset; /* in weights/data, a multiple of 64 */
    uint64_t n_bytes;
} SundogCoreWeight;

/* The numbers of the cache schemes: "paged", and "window" and "recurrent" beside it. Where there is none, the scheme is
 * NULL and numbers are 0, but page_tokens, by which page tables count all the same. */
typedef struct {
    const char *scheme;
    uint32_t page_tokens;
    SundogDtype dtype;
    uint32_t n_layers;
    uint32_t n_kv_heads; /* of the layer with the most */
    uint32_t head_dim;   /* of the layer with the largest */
    uint64_t page_bytes; /* of all layers, keys and values; without those that have windows below */
    uint32_t window_tokens; /* the longest window of layers with pages of their own; 0: none has */
    uint32_t window_pages;  /* of theirs, the most that a sequence holds between steps */
    uint64_t window_bytes;  /* of a page of theirs, all together */
    uint64_t state_bytes;   /* of all layers of one sequence; 0: there is no recurrent state */
} SundogCoreCache;

typedef struct {
    const char *name;
    const char *target;
    const char *activations;
    const char *model_name;
    const char *architecture;
    const char *licence; /* or NULL */
    const char *model_sha256;
    uint64_t n_parameters;
    uint32_t context_length;
    uint32_t n_vocabulary;
    SundogCorePurpose purpose;
    uint32_t n_outputs; /* of a result; 0 where it generates */
    uint32_t n_token_types;
    uint64_t arena_bytes;
    uint64_t weight_bytes;
} SundogCoreInfo;

typedef struct SundogCore SundogCore;

SundogCore *sundog_core_open(const char *folder, const SundogKeyring *keyring, GError **error);
void sundog_core_free(SundogCore *core);

const SundogCoreInfo *sundog_core_get_info(const SundogCore *core);
/* Whether its target is the host's processor, not a GPU. */
bool sundog_core_is_for_host(const SundogCore *core);
/* As the manifest says it: "generate", "embed", "rerank". */
const char *sundog_core_purpose_text(SundogCorePurpose purpose);
/* False where the text is none of them; NULL is "generate". */
bool sundog_core_purpose_find(const char *text, SundogCorePurpose *purpose);
const SundogPackage *sundog_core_get_package(const SundogCore *core);
const SundogCoreCache *sundog_core_get_cache(const SundogCore *core);
/* NULL where there is none of that name. Checked when the core was opened. */
const SundogProgram *sundog_core_get_program(const SundogCore *core, const char *name);
/* Bytes of arena that the engine touches with so many threads (0: one a processor of this machine); at
 * most the plan's, which is for as many as the programs allow. */
uint64_t sundog_core_measure_arena(const SundogCore *core, unsigned n_threads);
/* The program's launch list; NULL in a core for the host. Checked when the core was opened. */
const SundogLaunchList *sundog_core_get_launch_list(const SundogCore *core, const char *name);
uint32_t sundog_core_get_n_weights(const SundogCore *core);
const SundogCoreWeight *sundog_core_get_weight(const SundogCore *core, uint32_t index);
const SundogCoreWeight *sundog_core_find_weight(const SundogCore *core, const char *name);
/* The whole weights member, mapped; borrowed. */
GBytes *sundog_core_get_weights(const SundogCore *core);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCore, sundog_core_free)
