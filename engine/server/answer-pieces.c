/* Pieces of answers, and what may be asked of them. */

#include "engine/server/answer-pieces.h"

#include "engine/text/output/answer-constraint.h"
#include <string.h>

/* Some templates take no other length. */
#define CALL_ID_LETTERS 9

static bool
has_tools(const SundogCompletionRequest *request)
{
    return request->prompt.tools && json_array_get_length(request->prompt.tools) > 0;
}

static bool
takes_calls(const SundogCompletionRequest *request)
{
    return has_tools(request) && request->tool_choice != SUNDOG_TOOL_CHOICE_NONE;
}

/* The syntax of a chat's answer; NULL for a text that is gone on with. */
static const SundogOutputSyntax *
get_syntax(const SundogCompletionRequest *request)
{
    return request->prompt.messages ? request->core->syntax : NULL;
}

/* Pieces */

static void
give_content(const char *text, size_t n_bytes, void *data)
{
    SundogAnswer *answer = data;
    g_string_append_len(answer->text, text, (gssize)n_bytes);
    if (answer->request->stream && answer->form->text)
        answer->form->text(answer, text, n_bytes);
}

static void
give_reasoning(const char *text, size_t n_bytes, void *data)
{
    SundogAnswer *answer = data;
    g_string_append_len(answer->reasoning, text, (gssize)n_bytes);
    if (answer->request->stream && answer->form->reasoning)
        answer->form->reasoning(answer, text, n_bytes);
}

static char *
make_call_id(void)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char id[CALL_ID_LETTERS + 1] = {0};
    for (int i = 0; i < CALL_ID_LETTERS; i++)
        id[i] = letters[g_random_int_range(0, (gint32)strlen(letters))];
    return g_strdup(id);
}

/* A second call where one at most was asked for is left out. */
static bool
is_wanted(const SundogAnswer *answer, unsigned index)
{
    return index == 0 || !answer->request->no_parallel_tool_calls;
}

static void
give_call(unsigned index, const char *name, void *data)
{
    SundogAnswer *answer = data;
    if (!is_wanted(answer, index))
        return;
    SundogToolCall *call = g_new0(SundogToolCall, 1);
    call->id = make_call_id();
    call->name = g_strdup(name);
    call->arguments = g_string_new(NULL);
    g_ptr_array_add(answer->tool_calls, call);
    if (answer->request->stream && answer->form->tool_call)
        answer->form->tool_call(answer, index);
}

static void
give_arguments(unsigned index, const char *text, size_t n_bytes, void *data)
{
    SundogAnswer *answer = data;
    if (!is_wanted(answer, index))
        return;
    SundogToolCall *call = answer->tool_calls->pdata[index];
    g_string_append_len(call->arguments, text, (gssize)n_bytes);
    if (answer->request->stream && answer->form->arguments)
        answer->form->arguments(answer, index, text, n_bytes);
}

void
sundog_answer_begin_pieces(SundogAnswer *answer, const char *prompt)
{
    static const SundogOutputCalls calls = {give_content, give_reasoning, give_call,
                                            give_arguments};
    const SundogCompletionRequest *request = answer->request;
    const SundogOutputSyntax *syntax = get_syntax(request);
    bool reasons = syntax && (syntax->reasoning_open || syntax->form == SUNDOG_CALL_HARMONY);
    if (!syntax || (!reasons && !takes_calls(request)))
        return;
    SundogOutputOptions options = {
        .begins_reasoning = prompt && sundog_output_syntax_begins_reasoning(syntax, prompt),
        .reasons = reasons,
        .takes_calls = takes_calls(request),
        .tools = request->prompt.tools};
    const GArray *tokens = request->core->syntax_tokens;
    sundog_decoder_show(answer->generation->decoder, (const uint32_t *)(const void *)tokens->data,
                        tokens->len);
    answer->parser = sundog_output_parser_new(syntax, &options, &calls, answer);
}

void
sundog_answer_feed_pieces(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    if (answer->parser)
        sundog_output_parser_feed(answer->parser, text, n_bytes);
    else
        give_content(text, n_bytes, answer);
}

void
sundog_answer_finish_pieces(SundogAnswer *answer, bool whole)
{
    if (answer->parser)
        sundog_output_parser_finish(answer->parser, whole);
}

/* Constraints */

/* The field that a complaint is about. */
static const char *
get_field(const SundogCompletionRequest *request, bool calls)
{
    static const char *const fields[] = {[SUNDOG_ANSWER_FORMAT_TEXT] = "tools",
                                         [SUNDOG_ANSWER_FORMAT_JSON] = "response_format",
                                         [SUNDOG_ANSWER_FORMAT_SCHEMA] = "response_format",
                                         [SUNDOG_ANSWER_FORMAT_GRAMMAR] = "grammar",
                                         [SUNDOG_ANSWER_FORMAT_PATTERN] = "guided_regex",
                                         [SUNDOG_ANSWER_FORMAT_CHOICE] = "guided_choice"};
    return fields[calls ? SUNDOG_ANSWER_FORMAT_TEXT : request->format];
}

static SundogApiError *
check_tools(const SundogCompletionRequest *request)
{
    if (request->tool_choice >= SUNDOG_TOOL_CHOICE_REQUIRED && !has_tools(request))
        return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, "tool_choice", "tool_choice",
                                    "a call is asked for, and there are no tools", NULL);
    if (takes_calls(request) && !get_syntax(request))
        return sundog_api_error_new(
            SUNDOG_API_ERROR_INVALID_VALUE, "tools", "tools",
            "this core does not say how its model calls tools: prepare the model again", NULL);
    return NULL;
}

SundogAutomaton *
sundog_answer_constrain(const SundogCompletionRequest *request, const char *prompt,
                        SundogApiError **error)
{
    const SundogOutputSyntax *syntax = get_syntax(request);
    bool formed = request->format != SUNDOG_ANSWER_FORMAT_TEXT;
    bool required = request->tool_choice >= SUNDOG_TOOL_CHOICE_REQUIRED;
    SundogAnswerConstraint wanted = {
        .tokenizer = request->core->tokenizer,
        .syntax = syntax,
        .begins_reasoning =
            syntax && prompt && sundog_output_syntax_begins_reasoning(syntax, prompt),
        .reasons = request->reasoning != SUNDOG_REASONING_OFF,
        /* Where a call must come, what else the answer could be is not asked for. */
        .is_json = !required && request->format == SUNDOG_ANSWER_FORMAT_JSON,
        .schema = required ? NULL : request->schema,
        .grammar =
            !required && request->format == SUNDOG_ANSWER_FORMAT_GRAMMAR ? request->grammar : NULL,
        .pattern =
            !required && request->format == SUNDOG_ANSWER_FORMAT_PATTERN ? request->grammar : NULL,
        .choices = required ? NULL : (const char *const *)request->choices,
        .calls = takes_calls(request) && (required || formed),
        .tools = request->prompt.tools,
        .tool_name = request->tool_choice == SUNDOG_TOOL_CHOICE_NAMED ? request->tool_name : NULL,
        .is_parallel = !request->no_parallel_tool_calls};
    g_autoptr(GError) reason = NULL;
    *error = check_tools(request);
    if (*error || (!formed && !required))
        return NULL;
    SundogAutomaton *automaton = sundog_answer_constraint_new(&wanted, &reason);
    if (!automaton) {
        const char *field = get_field(request, required);
        *error = sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, field, field, reason->message,
                                      NULL);
    }
    return automaton;
}
