#pragma once

/*
 * The inputs and outputs that a forward program and the token engine agree on, by name. Shapes in the
 * variables' words. All are host memory on the host target.
 *
 * X(NAME, text, dtype)
 */
#define SUNDOG_STEP_INPUTS(X)                                                                  \
    X(TOKENS, "tokens", I32)                 /* [tokens] */                                    \
    X(POSITIONS, "positions", I32)           /* [tokens] position in its sequence, from 0 */   \
    X(TOKEN_SEQUENCE, "token_sequence", I32) /* [tokens] index of its sequence in this step */ \
    X(FIRST_ROW, "first_row", I32) /* [sequences + 1] rows of sequence i are             \
                                                first_row[i] to first_row[i + 1]; they are         \
                                                contiguous and in order of position */     \
    X(START_POSITION, "start_position", I32) /* [sequences] position of its first row */       \
    X(PAGE_TABLE, "page_table", I32)         /* [sequences, sequence_pages] */                 \
    X(LOGIT_ROWS, "logit_rows", I32)         /* [logit_rows] rows of the step that need logits */

/* Outputs: "logits" [logit_rows, n_vocabulary] f32. The program "sample" takes "logits" (the same
 * buffer), "sampling" [logit_rows, sizeof(SundogSampling)] u8, "history" [logit_rows, history] i32 and
 * gives "token" [logit_rows] i32. */

#define SUNDOG_PROGRAM_FORWARD "forward"
#define SUNDOG_PROGRAM_SAMPLE "sample"
