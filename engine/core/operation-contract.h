#pragma once

/*
 * What each operation asks of its arguments, as a table of texts, and the reading of them. Within this
 * house; operation-check.c asks, argument by argument.
 *
 * A text is a type, then the dimensions. Types: f32, i32, u8, a8; "matrix" is a weight in panels,
 * "vector" a dense one of a single row; "activation" is f32 or bf16, or a8 with the first dimension in
 * tiles; "gathered" is a8 with the first dimension in tiles, or floats with it in six rows a tile;
 * "float" is f32 or bf16; "pages" is f16, bf16 or f32 state, or f32 that lives for one step; "state" is f32 state. Dimensions: a capital letter is any size,
 * the same wherever the letter stands in the operation; sums and products join letters, numbers and
 * words; "tiles(T)" is whole tiles of 6, "rows(W)" their rows, "entries(A)" the work list of so many
 * choices; words are the sizes in find_word(). ">=" with a word is a workspace that may be larger.
 */

#include "engine/core/program.h"

/* The letters of one operation, as far as they are bound. */
typedef struct {
    const SundogOperation *operation;
    SundogExpressionPool
        *scratch; /* where derived sizes are built, so that they compare by index */
    SundogExpression letters[26];
    bool is_bound[26];
} SundogContract;

const char *sundog_contract_get_text(SundogOperationKind kind, uint32_t argument);
bool sundog_contract_is_letter(const char *word);
/* A letter as a number, 0 where it is not bound to a constant. */
int64_t sundog_contract_get_letter(const SundogContract *contract, char letter);
/* An integer parameter of the operation by name, 0 where it has none. */
int64_t sundog_contract_get_parameter(const SundogContract *contract, const char *name);
/* False where a letter of the word is not bound, so that nothing can be said. */
bool sundog_contract_find_dimension(SundogContract *contract, const char *word,
                                    SundogExpression *dimension);
/* What a word of ">=" stands for, in bytes a unit. */
int64_t sundog_contract_workspace_bytes(const SundogContract *contract, const char *word);
