#pragma once

/*
 * Families of models as Hugging Face's transformers publishes them: what the class in config.json is
 * called in GGUF, and what its settings and tensors are called there. A family is one row of the table
 * in hf-family.c; what it shares with the others stands in the common lists. Within this house.
 */

#include "engine/model/source.h"

/* A setting: a member of config.json ('.' leads into objects) under GGUF's name. Where several members
 * have the same name, the first that is there and not null counts. */
typedef struct {
    const char *own;
    const char *name;
} SundogHfKey;

/* What of a tensor's rows belongs under a name. */
typedef enum {
    SUNDOG_HF_WHOLE,
    SUNDOG_HF_FIRST_HALF,  /* of the rows: gate of gate and up */
    SUNDOG_HF_SECOND_HALF, /* up of gate and up */
    SUNDOG_HF_PLUS_ONE,    /* a norm that multiplies by its weight and 1 */
    SUNDOG_HF_EVEN_VALUES, /* every second value of each row: a bias of gate and up in turn */
    SUNDOG_HF_ODD_VALUES,
    /* Matrices whose plain floats lie with a column for each output, while their quantized blocks lie
     * in rows: all outputs, or every second one. */
    SUNDOG_HF_OUTPUTS,
    SUNDOG_HF_EVEN_OUTPUTS,
    SUNDOG_HF_ODD_OUTPUTS,
    SUNDOG_HF_FIRST_OUTPUTS, /* the first half of all outputs */
    SUNDOG_HF_LAST_OUTPUTS,
    SUNDOG_HF_CHANNELS, /* of a convolution, [channels, 1, width]: without the one in the middle */
    SUNDOG_HF_SCALED_CHANNELS, /* the same, each times the factor of its part of the one group */
    SUNDOG_HF_MINUS_EXP,       /* logarithms of decays: the decays below 0 */
    SUNDOG_HF_FROM_THIRD,      /* rows: positions behind two that stand for padding */
    /* Rows in groups: the first parts of all groups as a stack, with a column for each row, or the second
     * ones as they are. */
    SUNDOG_HF_KEYS_OF_HEADS,
    SUNDOG_HF_VALUES_OF_HEADS,
    /* One part of all groups as one matrix, or of a vector as one vector. */
    SUNDOG_HF_FIRST_PARTS,
    SUNDOG_HF_SECOND_PARTS,
    SUNDOG_HF_THIRD_PARTS,
    SUNDOG_HF_FOURTH_PARTS,
    SUNDOG_HF_PADDED_ROWS, /* the first part's, then for each of the second's the first row again */
    SUNDOG_HF_THREE_PARTS, /* the first ones, then the second, then the third */
} SundogHfPick;

#define SUNDOG_HF_MAX_PARTS 4

/* How the rows of a fused matrix lie where they go to heads: a group after the other, and in each its parts. */
typedef struct {
    uint64_t n_groups;                   /* 0: the model has no such matrix */
    uint64_t parts[SUNDOG_HF_MAX_PARTS]; /* rows of each; 0 behind the last */
    double factors[SUNDOG_HF_MAX_PARTS]; /* of values, where something is scaled by them */
} SundogHfGroups;

/* A tensor: its name, where %u stands for the layer's number and %e for the expert's, under GGUF's with %u
 * for the layer. Matrices of experts are joined in the order of their numbers. A name may stand in
 * several rows; a NULL for GGUF's means that the tensor is not wanted. */
typedef struct {
    const char *own;
    const char *name;
    SundogHfPick pick;
} SundogHfTensor;

typedef struct {
    const char *class_name;        /* "LlamaForCausalLM" */
    const char *architecture;      /* GGUF's: "llama" */
    const char *activation;        /* what hidden_act must say where it is there: "silu" */
    const SundogHfKey *keys;       /* of this family, before the common ones; ends with own NULL */
    const SundogHfTensor *tensors; /* the same for tensors */
    /* Settings that are not said under one name: in place of what the tables have set. May be NULL. */
    void (*read)(SundogSource *source, JsonObject *config);
    /* What is meant where "text_config" does not say, as files do that leave out what transformers has
     * anyway: an object in JSON, or NULL. */
    const char *defaults;
    /* The groups of the one kind of fused matrix that the family has. NULL where it has none, and of
     * attention over latents, whose files say so. */
    bool (*read_groups)(JsonObject *config, SundogHfGroups *groups, GError **error);
    bool guesses_apart; /* a layer that guesses tokens stands under "mtp." */
} SundogHfFamily;

/* Encoders': tables in hf-encoders.c. */
extern const SundogHfKey sundog_hf_bert_keys[];
extern const SundogHfKey sundog_hf_modern_bert_keys[];
extern const SundogHfKey sundog_hf_nomic_bert_keys[];
extern const SundogHfTensor sundog_hf_bert_tensors[];
extern const SundogHfTensor sundog_hf_bert_class_tensors[];
extern const SundogHfTensor sundog_hf_roberta_tensors[];
extern const SundogHfTensor sundog_hf_modern_bert_tensors[];
extern const SundogHfTensor sundog_hf_nomic_bert_tensors[];
extern const SundogHfTensor sundog_hf_qwen3_class_tensors[];
/* RoBERTa's positions begin behind two that stand for padding. */
void sundog_hf_roberta_read(SundogSource *source, JsonObject *config);
/* Classes that score. */
void sundog_hf_class_read(SundogSource *source, JsonObject *config);
void sundog_hf_roberta_class_read(SundogSource *source, JsonObject *config);
/* ModernBERT's stands for the first token or the mean. */
void sundog_hf_modern_bert_class_read(SundogSource *source, JsonObject *config);
/* Gemma's: tables in hf-gemma.c, and Gemma 4's settings. */
extern const SundogHfTensor sundog_hf_gemma_tensors[];
extern const SundogHfTensor sundog_hf_gemma2_tensors[];
extern const SundogHfTensor sundog_hf_gemma4_tensors[];
extern const SundogHfKey sundog_hf_gemma_keys[];
extern const SundogHfKey sundog_hf_gemma4_keys[];
extern const SundogHfTensor sundog_hf_gemma3n_tensors[];
extern const SundogHfKey sundog_hf_gemma3n_keys[];
extern const char sundog_hf_gemma3_defaults[];
void sundog_hf_gemma3n_read(SundogSource *source, JsonObject *config);
bool sundog_hf_gemma3n_groups(JsonObject *config, SundogHfGroups *groups, GError **error);
void sundog_hf_gemma4_read(SundogSource *source, JsonObject *config);
/* Granite's and those with state spaces: tables in hf-granite.c. */
extern const SundogHfTensor sundog_hf_granite_hybrid_tensors[];
extern const SundogHfTensor sundog_hf_bamba_tensors[];
extern const SundogHfTensor sundog_hf_nemotron_h_tensors[];
extern const SundogHfKey sundog_hf_granite_hybrid_keys[];
extern const SundogHfKey sundog_hf_nemotron_h_keys[];
extern const SundogHfTensor sundog_hf_granite_moe_tensors[];
extern const SundogHfKey sundog_hf_granite_keys[];
extern const SundogHfTensor sundog_hf_falcon_h1_tensors[];
extern const SundogHfKey sundog_hf_falcon_h1_keys[];
void sundog_hf_falcon_h1_read(SundogSource *source, JsonObject *config);
bool sundog_hf_falcon_h1_groups(JsonObject *config, SundogHfGroups *groups, GError **error);
void sundog_hf_granite_hybrid_read(SundogSource *source, JsonObject *config);
extern const SundogHfKey sundog_hf_mamba2_keys[];
void sundog_hf_mamba2_read(SundogSource *source, JsonObject *config);
void sundog_hf_nemotron_h_read(SundogSource *source, JsonObject *config);
/* Falcon's and GPT-NeoX's, whose queries, keys and values are one matrix: tables in hf-falcon.c. */
extern const SundogHfTensor sundog_hf_falcon_tensors[];
extern const SundogHfTensor sundog_hf_gpt_neox_tensors[];
extern const SundogHfKey sundog_hf_falcon_keys[];
extern const SundogHfKey sundog_hf_gpt_neox_keys[];
void sundog_hf_falcon_read(SundogSource *source, JsonObject *config);
void sundog_hf_gpt_neox_read(SundogSource *source, JsonObject *config);
bool sundog_hf_falcon_groups(JsonObject *config, SundogHfGroups *groups, GError **error);
bool sundog_hf_gpt_neox_groups(JsonObject *config, SundogHfGroups *groups, GError **error);
/* LFM2's. */
extern const SundogHfTensor sundog_hf_lfm2_tensors[];
extern const SundogHfKey sundog_hf_lfm2_keys[];
void sundog_hf_lfm2_read(SundogSource *source, JsonObject *config);
/* Llama 4's. */
extern const SundogHfTensor sundog_hf_llama4_tensors[];
extern const SundogHfKey sundog_hf_llama4_keys[];
void sundog_hf_llama4_read(SundogSource *source, JsonObject *config);

/* Those with gated delta nets: Qwen3-Next and Qwen 3.5. */
extern const SundogHfTensor sundog_hf_qwen3_next_tensors[];
extern const SundogHfTensor sundog_hf_qwen3_5_tensors[];
extern const SundogHfKey sundog_hf_qwen3_next_keys[];
void sundog_hf_qwen3_next_read(SundogSource *source, JsonObject *config);
bool sundog_hf_qwen3_next_groups(JsonObject *config, SundogHfGroups *groups, GError **error);
/* DeepSeek's, in hf-latent.c. */
extern const SundogHfTensor sundog_hf_deepseek_tensors[];

/* NULL where the class is not known. */
const SundogHfFamily *sundog_hf_family_find(const char *class_name);
/* The names of all classes, for error texts; owned by the caller. */
char *sundog_hf_family_dup_known(void);

/* What all families share; both end with own NULL. */
extern const SundogHfKey sundog_hf_common_keys[];
extern const SundogHfTensor sundog_hf_common_tensors[];
