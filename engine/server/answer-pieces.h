#pragma once

/*
 * The pieces of an answer: text of the generation becomes content, reasoning and tool calls, which are
 * kept in the answer and, in a stream, told by its form. Chats of cores whose output syntax is known go
 * through its parser; all else is content. Main context.
 */

#include "engine/server/answer.h"

/* Once the generation is made. prompt: the chat as its template wrote it, or NULL. */
void sundog_answer_begin_pieces(SundogAnswer *answer, const char *prompt);
void sundog_answer_feed_pieces(SundogAnswer *answer, const char *text, size_t n_bytes);
/* whole: the answer ended by itself. Gives what was held back. */
void sundog_answer_finish_pieces(SundogAnswer *answer, bool whole);

/* What the request asks of the form of its answer, compiled; NULL with *error NULL where it asks
 * nothing. A form that cannot be enforced is an error that names the field and the reason. */
SundogAutomaton *sundog_answer_constrain(const SundogCompletionRequest *request, const char *prompt,
                                         SundogApiError **error);
