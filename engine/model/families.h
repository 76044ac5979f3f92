#pragma once

/*
 * What is known of a family beside what its files say: a row of facts an architecture. Source: the
 * families' modelling code in transformers, and the converters and loader of llama.cpp for what GGUF
 * leaves out. Within this house.
 */

#include <stdbool.h>
#include <stdint.h>

/* Which dimensions of a head are rotated together. GGUF's llama files have the rows of Q and K permuted
 * so that halves became neighbours; other files of the same models do not. */
typedef enum {
    SUNDOG_PAIRS_HALVES,
    SUNDOG_PAIRS_NEIGHBOURS,
    SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF
} SundogPairs;

typedef struct {
    const char *name; /* GGUF's of the architecture */
    SundogPairs pairs;
    /* Where a file gives a window without saying for which layers: the last of so many sees everything.
     * 0: all layers have the window. */
    uint32_t window_period;
    /* Of the rotation of layers with a window, where a file does not say; 0: as the others. */
    double window_rope_base;
    bool scales_embedding; /* by the square root of hidden_size, where a file does not say */
    /* The one size, told by its layers, whose queries are scaled by hidden_size / n_heads instead of the
     * size of a head, where a file does not say. */
    uint32_t layers_of_wide_scale;
    bool scales_window_rope; /* layers with a window are scaled as the others */
    bool yarn_is_exact;      /* YaRN's bounds are not rounded to whole pairs */
    uint32_t
        chunk; /* of layers that the period gives a window, where a file does not say; 0: none */
    double query_scale_beta; /* where a file does not say, of queries that are not rotated */
    uint32_t query_scale_period;
    uint32_t rope_period;   /* the last of so many layers rotates nothing; 0: all rotate */
    bool rotates_windows;   /* where some layers have a window, the others rotate nothing */
    bool finetuned_is_rope; /* "rope.scaling.finetuned" says whether anything is rotated */
    bool divides_logits;    /* by the scale that the file gives */
    bool divides_magnitude; /* of YaRN by that of the file's logarithmic multiplier */
    uint32_t laurel_rank;   /* of a low-rank product beside attention, where a file does not say */
    bool layers_differ;     /* settings of sizes may be lists, a number a layer */
    bool unscaled_queries;  /* scores are not scaled where a file does not say */
    bool is_encoder;        /* tokens see those after them where a file does not say */
    bool learns_positions;  /* and rotates nothing */
    bool sees_all_first;    /* the first of each period's layers sees everything, not the last */
    bool halves_window;     /* the window is stated as what is seen both ways together */
    bool norms_whole_rows;  /* queries and keys are normed over all heads together */
    bool has_conv_layers;   /* some layers are a short convolution */
    bool has_delta_layers;  /* some layers are linear attention by the gated delta rule */
    bool has_state_spaces;  /* some layers are a state space */
    bool attends_beside;    /* every layer is one, and attends beside it */
    bool never_attends;     /* every layer is one, alone */
    bool tiles_key_heads;   /* whose value heads go round the key heads */
    bool gates_attention;   /* queries come with a gate of what they attend to */
    bool has_experts;       /* files of the family may tell of experts */
    /* How experts are chosen where a file does not say: by sigmoid, else by softmax, and whether the
     * weights of those that were chosen are made to add to 1. */
    bool experts_by_sigmoid;
    bool bias_means_sigmoid; /* of what the choice is made by */
    bool weighs_inputs;      /* of an expert, in place of its results */
    uint32_t n_shared;       /* experts of all tokens, where a file does not say */
    bool renormalizes_experts;
    double expert_margin; /* where a file does not say; 0: there is none */
    bool takes_mean;      /* in its norms, which files name as if they did not */
} SundogFamily;

/* NULL where there is none of that name, which may be NULL. */
const SundogFamily *sundog_family_find(const char *name);
/* All names, with commas between; owned by the caller. */
char *sundog_family_dup_names(void);
