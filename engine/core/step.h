#pragma once

/*
 * The inputs and outputs that a forward program and the token engine agree on, by name. All are host
 * memory on the host target.
 *
 * X(NAME, text, dtype, shape); a dimension is a variable's name, "+1" one more.
 */
#define SUNDOG_STEP_INPUTS(X)                                                                       \
    X(TOKENS, "tokens", I32, "tokens")                                                              \
    /* position of a row in its sequence, from 0 */                                                 \
    X(POSITIONS, "positions", I32, "tokens")                                                        \
    /* index of a row's sequence in this step */                                                    \
    X(TOKEN_SEQUENCE, "token_sequence", I32, "tokens")                                              \
    /* rows of sequence i are first_row[i] to first_row[i + 1]; contiguous, in order of position */ \
    X(FIRST_ROW, "first_row", I32, "sequences+1")                                                   \
    /* position of a sequence's first row of this step */                                           \
    X(START_POSITION, "start_position", I32, "sequences")                                           \
    X(PAGE_TABLE, "page_table", I32, "sequences sequence_pages")

/* Those of programs that give logits: the rows of the step that need them. */
#define SUNDOG_STEP_LOGIT_INPUTS(X) X(LOGIT_ROWS, "logit_rows", I32, "logit_rows")
/* Those that programs of a result may have: which of two texts a row is of, 0 or 1. */
#define SUNDOG_STEP_RESULT_INPUTS(X) X(TOKEN_TYPES, "token_types", I32, "tokens")

/* Inputs that only programs with recurrent state, or with pages of windows have. */
#define SUNDOG_STEP_STATE_INPUTS(X)                                                              \
    /* page_table of layers with a window: null pages before it */                               \
    X(WINDOW_TABLE, "window_table", I32, "sequences sequence_pages")                             \
    /* where a sequence's recurrent state lies; a sequence that starts at position 0 has none */ \
    X(STATE_SLOT, "state_slot", I32, "sequences")

/* A core for text gives "logits" of any rows; one for vectors or scores gives "result" [sequences,
 * n_outputs] f32, takes each sequence whole in one step, from position 0, in pages numbered from 1 on in the
 * order of the sequences, and has no program "sample". */

/* Outputs: "logits" [logit_rows, n_vocabulary] f32. The program "sample" takes "logits" (the same
 * buffer), "sampling" [logit_rows, sizeof(SundogSampling)] u8, "history" [logit_rows, history] i32,
 * "mask" [logit_rows, mask] i32 and "bias" [logit_rows, bias] i32 (see sample.h) and
 * gives "token" [logit_rows] i32 and, where the target has them, "scores" [logit_rows,
 * SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS] i32. */

/* A model that guesses tokens ahead has the program "draft". It runs behind a step of "forward", which then gives
 * "hidden" [tokens, hidden_size] f32, on rows of it: of each row "tokens" holds the token after it, and "hidden" what
 * the step gave for it; the rest of the inputs is as in a step. It writes state of its own in the same pages, and gives
 * "logits" of the tokens after those, and for the same rows "draft_hidden" [logit_rows, hidden_size] f32: what
 * stands for "hidden" where it runs on a token that it has guessed. */

#define SUNDOG_PROGRAM_FORWARD "forward"
#define SUNDOG_PROGRAM_SAMPLE "sample"
#define SUNDOG_PROGRAM_DRAFT "draft"
#define SUNDOG_STEP_HIDDEN "hidden"
#define SUNDOG_STEP_DRAFT_HIDDEN "draft_hidden"
/* The recipe's unfused program in float32: no engine runs it, verify compares with it. */
#define SUNDOG_PROGRAM_REFERENCE "reference"
