/*
 * The pre-tokenizers by name. Their expressions are facts, published in the tokenizer.json of the
 * models that the names come from; where a model cuts its text in several steps, so is it done here.
 */

#include "engine/text/tokenizer/pre-tokenizer-kinds.h"

#define CONTRACTION "'(?:[sdmt]|ll|ve|re)"
#define ANY_CONTRACTION "(?i:" CONTRACTION ")"
/* The last space of several goes with the word that follows it. */
#define SPACES "|\\s+(?!\\S)|\\s+"
#define LINES "|\\s*[\\r\\n]+"
#define SIGNS "| ?[^\\s\\p{L}\\p{N}]+"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define GPT2_WORDS CONTRACTION "| ?\\p{L}+"
#define GPT2 GPT2_WORDS "| ?\\p{N}+" SIGNS SPACES
#define LLAMA3_WORDS ANY_CONTRACTION "|" LETTERS "|\\p{N}{1,3}" SIGNS "[\\r\\n]*" LINES
#define LLAMA3 LLAMA3_WORDS SPACES
#define QWEN2 ANY_CONTRACTION "|" LETTERS "|\\p{N}" SIGNS "[\\r\\n]*" LINES SPACES

/* Words that begin with capitals, and words in capitals. */
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED_WORDS(capitals, smalls, end)                                                  \
    "[^\\r\\n\\p{L}\\p{N}]?" capitals "*" smalls "+" end "|[^\\r\\n\\p{L}\\p{N}]?" capitals \
    "+" smalls "*" end
#define GPT4O_NUMBERED(numbers) \
    CASED_WORDS(CAPITALS, SMALLS, ANY_CONTRACTION "?") "|" numbers SIGNS "[\\r\\n/]*" LINES SPACES
#define GPT4O GPT4O_NUMBERED("\\p{N}{1,3}")
/* The same sets without Han characters: all that is in none of these. */
#define NO_HAN_CAPITALS "[^\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{Han}]"
#define NO_HAN_SMALLS "[^\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{Han}]"

#define HAN_AND_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{30FF}]+"
#define CJK "[\\x{800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+"
#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
#define DEEPSEEK3_WORDS                                     \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"

/* Letters of scripts with capitals, as DeepSeek's first vocabulary lists them. */
#define CASED_LETTERS                                                                \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"   \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}"            \
    "\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}"    \
    "\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}"           \
    "\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}"   \
    "\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}"   \
    "\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}"   \
    "\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}"              \
    "\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}"             \
    "\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}"   \
    "\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}"    \
    "\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}"     \
    "\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}"    \
    "\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}"    \
    "\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"    \
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}"   \
    "\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}" \
    "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}"                \
    "\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

static const SundogPreTokenizerKind kinds[] = {
    {
        .stages = {{GPT2}},
        .names = "gpt-2 a.x-4.0 exaone4 gigachat granite-docling jais jina-de jina-es jina-v1-en "
                 "jina-v2-code jina-v2-de jina-v2-es mellum modern-bert mpt olmo phi-2 roberta-bpe "
                 "trillion",
        .total = true,
    },
    {
        /* Each digit alone first: white space before one ends as white space at the end does. */
        .stages = {{"\\p{N}|" GPT2_WORDS SIGNS "|\\s+(?![^\\s\\p{N}])|\\s+"}},
        .names = "smollm codeshell command-r exaone mellum2 minerva-7b refact starcoder",
        .total = true,
    },
    {
        .stages = {{LLAMA3}},
        .names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 glm4 glm5 jina-v5-nano lfm2 midm-2.0 "
                 "pixtral",
        .total = true,
        .ignore_merges = true,
    },
    {
        .stages = {{LLAMA3}},
        .names = "chatglm-bpe dbrx smaug-bpe",
        .total = true,
    },
    {
        .stages = {{QWEN2}},
        .names = "qwen2 deepseek-r1-qwen f2llmv2 grok-2 hunyuan kormo megrez solar-open stablelm2",
        .total = true,
    },
    {
        .stages = {{ANY_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                                    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES SPACES}},
        .names = "qwen35",
        .total = true,
    },
    {
        .stages = {{LETTERS "|\\p{N}" SIGNS "[\\r\\n]*" LINES SPACES}},
        .names = "ufakzeka",
        .total = true,
    },
    {
        .stages = {{ANY_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++"
                                    "[\\r\\n]*|\\s*[\\r\\n]" SPACES}},
        .names = "bailingmoe bailingmoe2 llada-moe",
        .total = true,
    },
    {
        .stages = {{ANY_CONTRACTION "|" LETTERS
                                    "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" LINES SPACES}},
        .names = "seed-coder",
        .total = true,
    },
    {
        /* Letters with single spaces between them are one word. */
        .stages = {{ANY_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*+(?: ?\\p{L}\\p{M}*+)*+"
                                    "|\\p{N}" SIGNS "[\\r\\n/]?|\\s*[\\r\\n]" SPACES}},
        .names = "exaone-moe",
        .total = true,
    },
    {
        .stages = {{LLAMA3_WORDS "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)"
                                 "|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)"
                                 "|\\s{1,2}(?!\\S)|\\s"}},
        .names = "jais-2",
        .total = true,
    },
    {
        .stages = {{GPT4O}},
        .names = "gpt-4o kanana2 llama4 minimax-m2 talkie",
        .total = true,
    },
    {
        .stages = {{GPT4O}},
        .names = "granite-embed-multi-97m",
        .total = true,
        .ignore_merges = true,
    },
    {
        .stages = {{CASED_WORDS(CAPITALS, SMALLS, "") "|\\p{N}" SIGNS "[\\r\\n/]*" LINES SPACES}},
        .names = "tekken",
        .total = true,
        .ignore_merges = true,
    },
    {
        .stages = {{"\\p{Han}+|" CASED_WORDS(NO_HAN_CAPITALS, NO_HAN_SMALLS,
                                             ANY_CONTRACTION "?") "|\\p{N}{1,3}" SIGNS
                                                                  "[\\r\\n]*" LINES SPACES}},
        .names = "kimi-k2",
        .total = true,
    },
    {
        /* Threes only where no letter follows the number. */
        .stages = {{"(?<!\\d)\\d++(?!\\w)", .threes = true}, {GPT4O}},
        .names = "tiny_aya cohere2moe",
    },
    {
        .stages = {{"[\\uAC00-\\uD7A3\\u3131-\\u318E]+"
                    "|[\\uFF01\\u2026\\u201C\\u201D\\u2018\\u2019\\u2014\\uFF1A\\uFF1B\\uFF0C"
                    "\\u3001-\\u303F\\uFE30-\\uFE4F]+|[\\u3105-\\u312F]+|" HAN_AND_KANA},
                   {GPT4O_NUMBERED("\\p{N}")}},
        .names = "youtu",
        .ignore_merges = true,
    },
    {
        .stages = {{"\\p{N}{1,3}"}, {HAN_AND_KANA}, {DEEPSEEK3_WORDS "[\\r\\n]*" LINES SPACES}},
        .names = "deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
    },
    {
        .stages =
            {{"\\p{N}{1,3}"}, {HAN_AND_KANA}, {DEEPSEEK3_WORDS "|[\\r\\n]" SPACES}, {"\\p{N}"}},
        .names = "spark2_5",
    },
    {
        .stages = {{"\\p{N}+", .threes = true},
                   {"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{30FF}"
                    "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{EFF}\\x{1780}-\\x{17FF}"
                    "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}"
                    "\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+"},
                   {DEEPSEEK3_WORDS "[\\r\\n]*" LINES SPACES}},
        .names = "afmoe",
    },
    {
        .stages = {{"[\\r\\n]"},
                   {"\\s?[" CASED_LETTERS "]+"},
                   {"\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}"
                    "\\x{3000}-\\x{3002}]+"},
                   {"(?<!\\s)\\s++$"},
                   {CJK},
                   {"\\p{N}"}},
        .names = "deepseek-llm",
    },
    {
        .stages = {{"[\\r\\n]"}, {"\\s?\\p{L}+"}, {"\\s?\\p{P}+"}, {CJK}, {"\\p{N}"}},
        .names = "deepseek-coder",
    },
    {
        .stages = {{"[\\p{P}$+<=>^~|`]+"}, {GPT2}, {"[0-9][0-9][0-9]"}},
        .names = "falcon",
    },
    {
        /* What files are read with that do not say what they were made for. */
        .stages = {{"[\\p{P}$+<=>^~|]+"}, {GPT2}, {"\\p{N}+"}, {"[0-9][0-9][0-9]"}},
        .names = "default",
    },
    {
        .stages = {{"<sentinel:[0-9]+>"},
                   {"IMGIMG[A-I]{1,4}Z"},
                   {"[\\t\\n]|    |  "},
                   {"\\p{N}"},
                   {"[\\p{P}!-/:-@\\[-`{-~]"},
                   {GPT2}},
        .names = "chameleon",
    },
    {
        .stages = {{"\\p{N}{1,3}"},
                   {ANY_CONTRACTION "|" LETTERS "|\\p{N}+" SIGNS "[\\r\\n]*" LINES SPACES}},
        .names = "minicpm5",
        .ignore_merges = true,
    },
    {
        .stages = {{"[^\\n]+|\\n+"}, {QWEN2}},
        .names = "laguna",
    },
    {
        .stages = {{BLOOM}},
        .names = "bloom gpt3-finnish poro-chat",
    },
    {
        .stages = {{BLOOM}, {"\\p{N}"}},
        .names = "viking",
    },
    {
        .stages = {{"\\p{N}+"}, {"\\d+", .threes = true}},
        .names = "superbpe",
    },
    {
        .stages = {{"[^\\n]+|\\n+"}},
        .names = "gemma4 granite-embed-multi-311m sarvam-moe",
        .total = true,
        .characters = true,
    },
};

const SundogPreTokenizerKind *
sundog_pre_tokenizer_kind_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_auto(GStrv) names = g_strsplit(kinds[i].names, " ", -1);
        if (g_strv_contains((const char *const *)names, name))
            return &kinds[i];
    }
    return NULL;
}

char *
sundog_pre_tokenizer_kind_dup_names(void)
{
    GString *known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(known, "%s%s", i == 0 ? "" : " ", kinds[i].names);
    return g_string_free(known, FALSE);
}
