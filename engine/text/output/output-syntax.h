#pragma once

/*
 * How a model writes what is no plain answer: its reasoning and its calls of tools. Read from its
 * template at preparation, by having it render calls with known words and looking at what stands
 * around them; so it holds for templates that nobody has seen yet. A core carries it as "syntax".
 *
 * Marks are as the template writes them, without the white space at their ends, which models vary.
 * Immutable once made; safe to share between threads.
 */

#include "engine/text/template/template.h"

typedef enum {
    SUNDOG_CALL_NONE,     /* none, where there is no template either */
    SUNDOG_CALL_OBJECT,   /* JSON objects with a name and arguments, alone or in a list */
    SUNDOG_CALL_NAMED,    /* a name, a mark, arguments as JSON */
    SUNDOG_CALL_TAGGED,   /* a name, then each argument between marks */
    SUNDOG_CALL_PYTHONIC, /* name(key=value, …) in a list */
    SUNDOG_CALL_BRACED,   /* name{key:value,…}, texts between marks of their own */
    SUNDOG_CALL_HARMONY,  /* messages in channels, some to functions */
} SundogCallForm;

typedef struct {
    char *reasoning_open; /* NULL where none is known */
    char *reasoning_close;
    /* The control tokens that begin what stands behind an answer's content and behind its calls, and so
     * end it, whether or not the vocabulary says so; NULL where there is none. */
    char *turn_end;
    char *call_end;

    SundogCallForm form;
    char *section_open; /* around all calls; "" where there is nothing */
    char *section_close;
    char *call_open; /* around each */
    char *call_close;
    char *name_key; /* OBJECT */
    char *arguments_key;
    char *name_close; /* NAMED, TAGGED: behind the name */
    char
        *extra_close; /* NAMED: behind something between name and arguments, such as an id; or "" */
    char *key_open;   /* TAGGED: before a key, */
    char *text_open;  /* between key and value, where it is a text, (BRACED: around a text) */
    char *value_open; /* where it is anything else, */
    char *value_close;   /* and behind it */
    bool has_index;      /* NAMED: a name ends in a colon and the call's number */
    bool has_cdata;      /* TAGGED: a text may stand in <![CDATA[…]]>, as it is */
    bool is_list;        /* OBJECT, NAMED: calls are a JSON list */
    bool text_arguments; /* the template takes arguments as JSON's text */
    bool null_content;   /* the template shows calls only where content is null */
    bool by_prompt;      /* the template knows no calls: they are explained in a system turn */
} SundogOutputSyntax;

/* Of a template's source; one that cannot be read has no syntax. */
SundogOutputSyntax *sundog_output_syntax_detect(const char *source,
                                                const SundogTokenizer *tokenizer);
void sundog_output_syntax_free(SundogOutputSyntax *syntax);

/* As in a core's manifest; owned by the caller. */
JsonObject *sundog_output_syntax_print(const SundogOutputSyntax *syntax);
/* NULL with an error of the format's domain where a member is missing or unknown. */
SundogOutputSyntax *sundog_output_syntax_parse(JsonObject *object, GError **error);

/* The control tokens that marks are made of (GArray of uint32_t), which the parser must see. */
GArray *sundog_output_syntax_find_tokens(const SundogOutputSyntax *syntax,
                                         const SundogTokenizer *tokenizer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogOutputSyntax, sundog_output_syntax_free)
