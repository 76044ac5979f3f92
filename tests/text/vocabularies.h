#pragma once

/* Vocabularies for tests: real ones out of GGUF files, and a small one made by hand. */

#include "engine/text/tokenizer/tokenizer.h"

/* A file of $SUNDOG_TEST_CACHE as tests/fetch names it, fetched if it is missing. NULL, with the test
 * skipped and the reason said, where it cannot be had. */
char *test_fetch(const char *what);

/* NULL with an error where this vocabulary's pre-tokenizer or kind is not supported. */
SundogTokenizer *test_open_tokenizer(const char *gguf_path, GError **error);

/* A token for each byte, then "he", "ll", "hell", "hello", " h", " hello" and "北" by merges; then the
 * control tokens <|begin|>, <|end|> and <|end|>|, <think> as a user-defined token, and one unused. */
SundogVocabulary *test_new_vocabulary(const char *pre_tokenizer);
/* Pieces of characters, with a score each and a byte token for each byte: " ", "h", "he", "ll", "hell",
 * "hello", " hello" and "北", of which "l", "o" and others are parts only. WORD_PIECE has no byte tokens,
 * LONGEST spells its bytes in escapes. <unk>, <s> and </s> come first, <think> last. */
SundogVocabulary *test_new_pieces(SundogTokenizerKind kind);
/* Its token with this spelling; it must exist. */
uint32_t test_find(const SundogTokenizer *tokenizer, const char *spelling);

GArray *test_encode(const SundogTokenizer *tokenizer, const char *text, size_t n_bytes,
                    SundogTokenizeFlags flags);
/* "12 7 9" */
char *test_dup_ids(const GArray *tokens);
