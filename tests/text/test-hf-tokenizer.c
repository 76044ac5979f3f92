/* tokenizer.json files made by hand: the tokens that texts become, and what is refused by name. */

#include "engine/format/hf-tokenizer.h"

#include "engine/format/error.h"
#include "tests/text/vocabularies.h"

#include <string.h>

#define SIGN "\xE2\x96\x81"

#define BYTE_LEVEL                                                                               \
    "{'added_tokens':[{'id':9,'content':'<|end|>','special':true},"                              \
    "{'id':10,'content':'<t>','special':false,'lstrip':true,'rstrip':true}],"                    \
    "'normalizer':{'type':'NFC'},'pre_tokenizer':{'type':'Sequence','pretokenizers':["           \
    "{'type':'Split','pattern':{'Regex':'\\\\p{N}'},'behavior':'Isolated','invert':false},"      \
    "{'type':'ByteLevel','add_prefix_space':false,'use_regex':true}]},"                          \
    "'post_processor':{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'<|end|>'}}," \
    "{'Sequence':{'id':'A'}}]},'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2,'\u0120':3,"    \
    "'\u0120a':4,'1':5,'\u00c3':6,'\u00a9':7,'\u00c3\u00a9':8},"                                 \
    "'merges':['a b',['\u0120','a'],'\u00c3 \u00a9','1 1']}}"

#define CHARACTERS                                                                             \
    "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Prepend','prepend':'" SIGN "'}," \
    "{'type':'Replace','pattern':{'String':' '},'content':'" SIGN "'}]},"                      \
    "'model':{'type':'BPE','byte_fallback':true,'unk_token':'u','vocab':{'u':0,'" SIGN "':1,"  \
    "'a':2,'" SIGN "a':3,'<0xC3>':4,'<0xA9>':5},'merges':['" SIGN " a']}}"

#define UNIGRAM                                                                             \
    "{'normalizer':{'type':'Precompiled','precompiled_charsmap':''},"                       \
    "'pre_tokenizer':{'type':'Sequence','pretokenizers':[{'type':'WhitespaceSplit'},"       \
    "{'type':'Metaspace'}]},'post_processor':{'type':'RobertaProcessing','sep':['</s>',1]," \
    "'cls':['<s>',0]},'added_tokens':[{'id':0,'content':'<s>','special':true},"             \
    "{'id':1,'content':'</s>','special':true},{'id':2,'content':'<unk>','special':true}],"  \
    "'model':{'type':'Unigram','unk_id':2,'vocab':[['<s>',0],['</s>',0],['<unk>',0],"       \
    "['" SIGN "',-2.0],['a',-3.5],['aa',-4.0],['" SIGN "a',-3.0],['aaa',-9]]}}"

#define WORD_PIECE                                                                               \
    "{'normalizer':{'type':'BertNormalizer','lowercase':true},"                                  \
    "'pre_tokenizer':{'type':'BertPreTokenizer'},'post_processor':{'type':'BertProcessing',"     \
    "'sep':['[SEP]',2],'cls':['[CLS]',1]},'added_tokens':["                                      \
    "{'id':0,'content':'[UNK]','special':true},{'id':1,'content':'[CLS]','special':true},"       \
    "{'id':2,'content':'[SEP]','special':true}],'model':{'type':'WordPiece','vocab':{'[UNK]':0," \
    "'[CLS]':1,'[SEP]':2,'un':3,'##able':4,'##a':5,'.':6,'e':7}}}"

/* JSON with single quotes is easier to read here. */
static SundogVocabulary *
read_quoted(const char *text, GError **error)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    return sundog_hf_tokenizer_read(json, strlen(json), error);
}

static SundogTokenizer *
open_quoted(const char *text)
{
    g_autoptr(GError) error = NULL;
    SundogVocabulary *vocabulary = read_quoted(text, &error);
    g_assert_no_error(error);
    SundogTokenizer *tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_no_error(error);
    return tokenizer;
}

static void
assert_ids(const SundogTokenizer *tokenizer, const char *text, const char *expected)
{
    g_autoptr(GArray) tokens =
        test_encode(tokenizer, text, strlen(text), SUNDOG_TOKENIZE_SPECIAL | SUNDOG_TOKENIZE_ADD);
    g_autofree char *ids = test_dup_ids(tokens);
    g_assert_cmpstr(ids, ==, expected);
}

static void
test_byte_level(void)
{
    g_autoptr(SundogTokenizer) tokenizer = open_quoted(BYTE_LEVEL);
    assert_ids(tokenizer, "ab ab a", "9 2 3 2 4");
    assert_ids(tokenizer, "11", "9 5 5");
    assert_ids(tokenizer, "e\xCC\x81", "9 8");
    assert_ids(tokenizer, "a <t> b<|end|>", "9 0 10 1 9");
    g_assert_true(sundog_tokenizer_is_end(tokenizer, 9));
}

static void
test_characters(void)
{
    g_autoptr(SundogTokenizer) tokenizer = open_quoted(CHARACTERS);
    assert_ids(tokenizer, "a a", "3 3");
    assert_ids(tokenizer, " a", "1 3");
    assert_ids(tokenizer, "é", "1 4 5");
    assert_ids(tokenizer, "ab", "3 0");
}

static void
test_unigram(void)
{
    g_autoptr(SundogTokenizer) tokenizer = open_quoted(UNIGRAM);
    assert_ids(tokenizer, "a", "0 6 1");
    assert_ids(tokenizer, "  aa  a ", "0 3 5 6 1");
    assert_ids(tokenizer, "aaa", "0 6 5 1");
    assert_ids(tokenizer, "axxa", "0 6 2 4 1");
}

static void
test_word_piece(void)
{
    g_autoptr(SundogTokenizer) tokenizer = open_quoted(WORD_PIECE);
    assert_ids(tokenizer, "UNABLE una.", "1 3 4 3 5 6 2");
    assert_ids(tokenizer, "unx un \xC3\x89", "1 0 3 7 2");
}

static void
test_refused(void)
{
    static const struct {
        const char *part;  /* of one of the files above */
        const char *other; /* what takes its place */
        const char *file;
        const char *text; /* of the error */
    } cases[] = {
        {"'type':'NFC'", "'type':'NFKC'", BYTE_LEVEL, "normalizer is \"NFKC\""},
        {"'Isolated'", "'MergedWithNext'", BYTE_LEVEL, "behavior of Split is \"MergedWithNext\""},
        {"'ByteLevel'", "'Whitespace'", BYTE_LEVEL, "pre_tokenizer is \"Whitespace\""},
        {"'type':'BPE'", "'type':'WordLevel'", BYTE_LEVEL, "model.type is \"WordLevel\""},
        {"'TemplateProcessing'", "'Other'", BYTE_LEVEL, "post_processor is \"Other\""},
        {"'SpecialToken':{'id':'<|end|>'}", "'SpecialToken':{'id':'?'}", BYTE_LEVEL,
         "TemplateProcessing is \"?\""},
        {"'special':true}", "'single_word':true}", BYTE_LEVEL, "single_word is \"<|end|>\""},
        {"'id':9", "'id':900000", BYTE_LEVEL, "a token has id 900000"},
        {"'a':0", "'a':-1", BYTE_LEVEL, "holds what is no id"},
        {"'a':0", "'a':4294967295", BYTE_LEVEL, "holds what is no id"},
        {"'a b'", "'ab'", BYTE_LEVEL, "holds what is no merge"},
        {"['\u0120','a']", "['\u0120']", BYTE_LEVEL, "holds what is no merge"},
        {"'type':'BPE',", "'type':'BPE','end_of_word_suffix':'</w>',", BYTE_LEVEL,
         "end_of_word_suffix is \"</w>\""},
        {"'Precompiled'", "'Lowercase'", UNIGRAM, "normalizer is \"Lowercase\""},
        {"'unk_id':2", "'unk_id':8", UNIGRAM, "unk_id is no piece's number"},
        {"-3.5", "'x'", UNIGRAM, "no piece with a score"},
        {"'type':'WordPiece'", "'type':'WordPiece','continuing_subword_prefix':'@'", WORD_PIECE,
         "continuing_subword_prefix is \"@\""},
        {"'BertPreTokenizer'", "'Whitespace'", WORD_PIECE, "pre_tokenizer is \"Whitespace\""},
        {"'type':'Prepend'", "'type':'Strip'", CHARACTERS, "normalizer is \"Strip\""},
        {"'String':' '", "'String':'x'", CHARACTERS, "Replace is \"x\""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(cases[i].file);
        bool found = g_string_replace(text, cases[i].part, cases[i].other, 1) == 1;
        g_assert_true(found);
        g_autoptr(SundogVocabulary) vocabulary = read_quoted(text->str, &error);
        g_assert_null(vocabulary);
        if (strstr(error->message, cases[i].text) == NULL)
            g_error("\"%s\" not in \"%s\"", cases[i].text, error->message);
    }
}

static void
read_ends(SundogVocabulary *vocabulary, const char *text, bool good)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_hf_tokenizer_read_ends(vocabulary, text, strlen(text), &error) == good);
    g_assert_true((error == NULL) == good);
}

/* The end of an answer is named in three files and by its spelling, and all of them count. */
static void
test_files_beside(void)
{
    static const char config[] = "{\"bos_token\":\"a\",\"eos_token\":{\"content\":\"b\"},"
                                 "\"pad_token\":null,\"add_bos_token\":false}";
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogVocabulary) vocabulary = read_quoted(BYTE_LEVEL, &error);
    g_assert_no_error(error);
    g_assert_true(sundog_hf_tokenizer_read_config(vocabulary, config, strlen(config), &error));
    g_assert_no_error(error);
    read_ends(vocabulary, "{\"eos_token_id\":[4,5]}", true);
    read_ends(vocabulary, "{\"eos_token_id\":6}", true);
    read_ends(vocabulary, "{\"eos_token_id\":null}", true);
    read_ends(vocabulary, "{}", true);
    read_ends(vocabulary, "{\"eos_token_id\":11}", false);
    read_ends(vocabulary, "{\"eos_token_id\":\"a\"}", false);
    read_ends(vocabulary, "[]", false);
    g_assert_cmpuint(vocabulary->bos, ==, 0);
    g_assert_cmpuint(vocabulary->eos, ==, 1);
    g_assert_false(vocabulary->add_bos);
    static const uint32_t ends[] = {9, 1, 4, 5, 6};
    g_assert_cmpmem(vocabulary->ends, vocabulary->n_ends * 4, ends, sizeof ends);
}

/* More tokens than the JSON reader takes members of an object. */
static void
test_many_tokens(void)
{
    g_autoptr(GString) text = g_string_new("{'pre_tokenizer':{'type':'ByteLevel'},"
                                           "'model':{'merges':[],'vocab' : {'vocab':0");
    for (unsigned i = 1; i < 20000; i++)
        g_string_append_printf(text, ",'t%u\\\\':%u", i, i);
    g_string_append(text, "}}}");
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogVocabulary) vocabulary = read_quoted(text->str, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(vocabulary->n_tokens, ==, 20000);
    g_assert_cmpstr(vocabulary->tokens[0].text, ==, "vocab");
    g_assert_cmpstr(vocabulary->tokens[19999].text, ==, "t19999\\");
    g_assert_true(vocabulary->add_space_prefix);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hf-tokenizer/byte-level", test_byte_level);
    g_test_add_func("/hf-tokenizer/characters", test_characters);
    g_test_add_func("/hf-tokenizer/unigram", test_unigram);
    g_test_add_func("/hf-tokenizer/word-piece", test_word_piece);
    g_test_add_func("/hf-tokenizer/refused", test_refused);
    g_test_add_func("/hf-tokenizer/files-beside", test_files_beside);
    g_test_add_func("/hf-tokenizer/many-tokens", test_many_tokens);
    return g_test_run();
}
