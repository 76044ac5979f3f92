#pragma once

/*
 * The text side of a core: its tokenizer and chat template, read from the package without opening its
 * weights. Immutable after open; reference-counted, since requests outlive a change of core.
 */

#include "engine/library/library.h"
#include "engine/text/output/output-syntax.h"

typedef struct SundogCoreText {
    int n_references;
    char *name;        /* as in /v1/models */
    char *path;        /* of the package's folder */
    char *fingerprint; /* of its manifest, for system_fingerprint */
    SundogTokenizer *tokenizer;
    SundogTemplate *chat_template; /* or NULL */
    char *template_source;         /* of it, or NULL */
    SundogOutputSyntax *syntax;    /* or NULL */
    GArray *ends;                  /* uint32_t: tokens that end an answer */
    GArray *syntax_tokens;         /* uint32_t: control tokens that its marks are made of */
    uint32_t context_length;       /* of the core's bounds */
    const char *purpose;           /* "generate", "embed" or "rerank"; the manifest's */
    const char *pair_template;     /* of a query and a document, or NULL; the manifest's */
    uint32_t n_outputs;            /* values of a vector, or scores; 0 where it generates */
    GVariant *vocabulary;          /* as the wire's VOCABULARY, once it was asked for */
    GHashTable *breakers;          /* of dry-breakers.h: texts -> GArray; main context */
    JsonObject *manifest;
    struct SundogCoreText *draft; /* the small core that drafts for it, a reference, or NULL */
    bool is_draft_chosen;         /* or that there is none */
} SundogCoreText;

SundogCoreText *sundog_core_text_open(const SundogLibraryEntry *entry, SundogKeyring *keyring,
                                      GError **error);
SundogCoreText *sundog_core_text_ref(SundogCoreText *text);
void sundog_core_text_unref(SundogCoreText *text);
/* Lets the small core draft from now on, whose vocabulary must be the same. */
bool sundog_core_text_set_draft(SundogCoreText *text, SundogCoreText *draft, GError **error);
/* The payload of VOCABULARY, made when first asked for; borrowed. Main context. */
GVariant *sundog_core_text_get_vocabulary(SundogCoreText *text);
/* A number of the profile "default", or otherwise. */
double sundog_core_text_get_sampling(const SundogCoreText *text, const char *key, double otherwise);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCoreText, sundog_core_text_unref)
