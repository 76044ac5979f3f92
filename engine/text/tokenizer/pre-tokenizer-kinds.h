#pragma once

/* The ways of cutting text into words that GGUF files ask for by name. */

#include <glib.h>
#include <stdbool.h>

#define SUNDOG_PRE_TOKENIZER_MAX_STAGES 8

/* Text is cut before and behind each match of a stage's expression. */
typedef struct {
    const char *expression; /* NULL behind the last stage */
    bool threes;            /* A match is a number, cut in groups of three from its end. */
} SundogPreTokenizerStage;

typedef struct {
    SundogPreTokenizerStage stages[SUNDOG_PRE_TOKENIZER_MAX_STAGES + 1]; /* each cuts the last's */
    const char *names;                                                   /* divided by spaces */
    bool total;         /* The only stage's expression matches at every character. */
    bool ignore_merges; /* A word that is a token is taken whole: GGUF files do not say it. */
    bool characters;    /* BPE of these names merges characters, not bytes. */
} SundogPreTokenizerKind;

/* NULL where the name is not known. */
const SundogPreTokenizerKind *sundog_pre_tokenizer_kind_find(const char *name);
/* All names, divided by spaces; owned by the caller. */
char *sundog_pre_tokenizer_kind_dup_names(void);
