/* Frames of an engine, checked and sorted by request. */

#include "tests/schedule/answers.h"

static void
answer_free(gpointer data)
{
    Answer *answer = data;
    g_array_unref(answer->tokens);
    g_array_unref(answer->scores);
    g_free(answer);
}

Answers *
answers_new(void)
{
    Answers *answers = g_new0(Answers, 1);
    answers->table = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, answer_free);
    return answers;
}

void
answers_free(Answers *answers)
{
    if (answers) {
        g_hash_table_unref(answers->table);
        g_free(answers->load_fault);
        g_free(answers);
    }
}

Answer *
answers_expect(Answers *answers, uint64_t id, uint32_t n_resumed)
{
    Answer *answer = g_new0(Answer, 1);
    answer->id = id;
    answer->n_resumed = n_resumed;
    answer->tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    answer->scores = g_array_new(FALSE, FALSE, sizeof(SundogTokenScore));
    g_assert_true(g_hash_table_insert(answers->table, &answer->id, answer));
    return answer;
}

Answer *
answers_get(Answers *answers, uint64_t id)
{
    Answer *answer = g_hash_table_lookup(answers->table, &id);
    g_assert_nonnull(answer);
    return answer;
}

static Answer *
get_running(Answers *answers, uint64_t id)
{
    Answer *answer = answers_get(answers, id);
    g_assert_false(answer->ended);
    return answer;
}

static void
take_prefill(Answers *answers, GVariant *payload)
{
    uint64_t id;
    uint32_t n_done, n_prompt, n_cached;
    g_variant_get(payload, "(tuuu)", &id, &n_done, &n_prompt, &n_cached);
    Answer *answer = get_running(answers, id);
    g_assert_true(answer->admitted);
    g_assert_cmpuint(n_done, <=, n_prompt);
    g_assert_cmpuint(n_cached, <, n_prompt + 1);
    answer->n_prefilled = n_done;
    answer->n_cached = n_cached;
}

static void
take_tokens(Answers *answers, GVariant *payload)
{
    g_autoptr(GVariant) rows = g_variant_get_child_value(payload, 1);
    g_assert_cmpuint(g_variant_n_children(rows), >, 0);
    for (gsize i = 0; i < g_variant_n_children(rows); i++) {
        uint64_t id;
        uint32_t index, token;
        g_variant_get_child(rows, i, "(tuu)", &id, &index, &token);
        Answer *answer = get_running(answers, id);
        g_assert_true(answer->admitted);
        g_assert_cmpuint(index, ==, answer->n_resumed + answer->tokens->len);
        g_array_append_val(answer->tokens, token);
    }
}

static void
take_scores(Answers *answers, GVariant *payload)
{
    SundogScores scores;
    g_assert_true(sundog_scores_unpack(payload, &scores, NULL));
    Answer *answer = get_running(answers, scores.id);
    if (answer->n_scores == 0) {
        answer->n_scores = scores.n_each;
        answer->first_scored = scores.position;
    }
    g_assert_cmpuint(scores.n_each, ==, answer->n_scores);
    g_assert_cmpuint(scores.position, ==,
                     answer->first_scored + answer->scores->len / scores.n_each);
    g_array_append_vals(answer->scores, scores.entries, scores.n_tokens * scores.n_each);
}

static void
take_finish(Answers *answers, GVariant *payload)
{
    SundogFinish finish;
    g_assert_true(sundog_finish_unpack(payload, &finish, NULL));
    Answer *answer = get_running(answers, finish.id);
    g_assert_cmpuint(finish.n_produced, ==, answer->n_resumed + answer->tokens->len);
    answer->finish = finish;
    answer->ended = true;
    answers->n_ended++;
}

static void
take_fault(Answers *answers, GVariant *payload)
{
    SundogFault fault;
    g_assert_true(sundog_fault_unpack(payload, &fault, NULL));
    if (fault.id == 0) {
        g_free(answers->load_fault);
        answers->load_fault = g_strdup(fault.text);
        return;
    }
    Answer *answer = get_running(answers, fault.id);
    answer->ended = answer->faulted = true;
    answer->fault = fault.code;
    answers->n_ended++;
}

void
answers_take(Answers *answers, uint32_t type, GVariant *payload)
{
    uint64_t id;
    switch (type) {
    case SUNDOG_MESSAGE_HELLO:
    case SUNDOG_MESSAGE_PROGRESS:
        g_assert_false(answers->ready_seen);
        break;
    case SUNDOG_MESSAGE_READY:
        g_assert_true(sundog_ready_unpack(payload, &answers->ready, NULL));
        answers->ready_seen = true;
        break;
    case SUNDOG_MESSAGE_ADMITTED:
        g_variant_get(payload, "(t)", &id);
        g_assert_false(get_running(answers, id)->admitted);
        get_running(answers, id)->admitted = true;
        break;
    case SUNDOG_MESSAGE_PREFILL:
        take_prefill(answers, payload);
        break;
    case SUNDOG_MESSAGE_TOKENS:
        take_tokens(answers, payload);
        break;
    case SUNDOG_MESSAGE_SCORES:
        take_scores(answers, payload);
        break;
    case SUNDOG_MESSAGE_FINISH:
        take_finish(answers, payload);
        break;
    case SUNDOG_MESSAGE_FAULT:
        take_fault(answers, payload);
        break;
    case SUNDOG_MESSAGE_STATISTICS:
        g_assert_true(sundog_statistics_unpack(payload, &answers->statistics, NULL));
        answers->n_statistics++;
        break;
    default:
        g_error("the engine sent a message of type %u", type);
    }
}

void
answers_take_bytes(Answers *answers, GByteArray *bytes)
{
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    sundog_frame_decoder_feed(decoder, bytes->data, bytes->len);
    for (;;) {
        uint32_t type;
        g_autoptr(GVariant) payload = NULL;
        g_assert_true(sundog_frame_decoder_next(decoder, &type, &payload, NULL));
        if (!payload)
            break;
        answers_take(answers, type, payload);
    }
    g_byte_array_set_size(bytes, 0);
}
