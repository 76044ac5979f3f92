/*
 * GGUF: what a good file gives back, and files that are damaged or hostile (reports A5, A6, A9). Each
 * bad file must give an error that names the thing, within a second, and never end the process.
 */

#include "engine/format/error.h"
#include "engine/format/gguf.h"
#include "tests/format/gguf-builder.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { U8 = 0, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

static void
expect_error(GBytes *bytes, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    clock_t begin = clock();
    g_autoptr(SundogGguf) gguf = sundog_gguf_new_from_bytes(bytes, "test.gguf", &error);
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    g_assert_null(gguf);
    if (code >= 0)
        g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
}

/* Builds, and expects the error. */
static void
expect_built_error(GgufBuilder *builder, int code, const char *text)
{
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    expect_error(bytes, code, text);
    gguf_builder_clear(builder);
}

static SundogGguf *
open_built(GgufBuilder *builder)
{
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    g_autoptr(GError) error = NULL;
    SundogGguf *gguf = sundog_gguf_new_from_bytes(bytes, "test.gguf", &error);
    g_assert_no_error(error);
    gguf_builder_clear(builder);
    return gguf;
}

static void
build_small(GgufBuilder *builder)
{
    static const char *const words[] = {"one", "", "three"};
    static const int32_t numbers[] = {-1, 2, INT32_MAX};
    gguf_builder_init(builder);
    gguf_builder_set_string(builder, "general.architecture", "test");
    gguf_builder_set_u32(builder, "test.count", 7);
    gguf_builder_set_f32(builder, "test.real", 0.5f);
    gguf_builder_set_bool(builder, "test.truth", 1);
    gguf_builder_set_strings(builder, "test.words", words, 3);
    gguf_builder_set_i32s(builder, "test.numbers", numbers, 3);
    gguf_builder_add_tensor(builder, "a", SUNDOG_GGUF_F32, 5, 1, 20);
    gguf_builder_add_tensor(builder, "b", SUNDOG_GGUF_Q4_1, 64, 3, 120);
    gguf_builder_add_tensor(builder, "c", SUNDOG_GGUF_F16, 2, 2, 8);
}

static void
test_values(void)
{
    GgufBuilder builder;
    build_small(&builder);
    g_autoptr(SundogGguf) gguf = open_built(&builder);
    uint64_t number;
    double real;
    bool truth;
    size_t n_bytes;
    g_assert_true(sundog_gguf_get_uint(gguf, "test.count", &number));
    g_assert_cmpuint(number, ==, 7);
    g_assert_true(sundog_gguf_get_float(gguf, "test.real", &real));
    g_assert_cmpfloat(real, ==, 0.5);
    g_assert_true(sundog_gguf_get_bool(gguf, "test.truth", &truth) && truth);
    g_assert_cmpstr(sundog_gguf_get_string(gguf, "general.architecture", &n_bytes), ==, "test");
    g_assert_cmpuint(n_bytes, ==, 4);
    g_assert_cmpuint(sundog_gguf_get_array_length(gguf, "test.words"), ==, 3);
    const char *word = sundog_gguf_get_array_string(gguf, "test.words", 2, &n_bytes);
    g_assert_cmpmem(word, n_bytes, "three", 5);
    g_assert_nonnull(sundog_gguf_get_array_string(gguf, "test.words", 1, &n_bytes));
    g_assert_cmpuint(n_bytes, ==, 0);
    g_assert_null(sundog_gguf_get_array_string(gguf, "test.words", 3, &n_bytes));
    g_assert_true(sundog_gguf_get_array_number(gguf, "test.numbers", 0, &real));
    g_assert_cmpfloat(real, ==, -1);
    g_assert_false(sundog_gguf_get_array_number(gguf, "test.numbers", 3, &real));
}

static void
test_other_types(void)
{
    /* A missing key and one of another type are both "no value"; has() tells them apart. */
    GgufBuilder builder;
    build_small(&builder);
    g_autoptr(SundogGguf) gguf = open_built(&builder);
    uint64_t number = 1;
    double real;
    bool truth;
    size_t n_bytes;
    g_assert_false(sundog_gguf_get_uint(gguf, "missing", &number));
    g_assert_false(sundog_gguf_has(gguf, "missing"));
    g_assert_false(sundog_gguf_get_uint(gguf, "test.real", &number));
    g_assert_false(sundog_gguf_get_uint(gguf, "test.numbers", &number));
    g_assert_false(sundog_gguf_get_uint(gguf, "test.truth", &number));
    g_assert_false(sundog_gguf_get_float(gguf, "test.count", &real));
    g_assert_false(sundog_gguf_get_bool(gguf, "test.count", &truth));
    g_assert_null(sundog_gguf_get_string(gguf, "test.words", NULL));
    g_assert_null(sundog_gguf_get_array_string(gguf, "test.numbers", 0, &n_bytes));
    g_assert_false(sundog_gguf_get_array_number(gguf, "test.words", 0, &real));
    g_assert_cmpuint(sundog_gguf_get_array_length(gguf, "test.count"), ==, 0);
    g_assert_true(sundog_gguf_has(gguf, "test.real"));
    g_assert_cmpuint(number, ==, 1);
}

/* Every width of integer, at its ends. */
static void
test_integers(void)
{
    static const struct {
        uint32_t type;
        unsigned n_bytes;
        uint64_t bits;
        bool positive;
    } cases[] = {
        {U8, 1, 0xff, true},        {I8, 1, 0x7f, true},         {I8, 1, 0xff, false},
        {U16, 2, 0xffff, true},     {I16, 2, 0x8000, false},     {I16, 2, 0x7fff, true},
        {U32, 4, 0xffffffff, true}, {I32, 4, 0xffffffff, false}, {I32, 4, 5, true},
        {U64, 8, UINT64_MAX, true}, {I64, 8, UINT64_MAX, false}, {I64, 8, INT64_MAX, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        SundogWriter writer;
        gguf_builder_init(&builder);
        sundog_writer_init(&writer);
        for (unsigned byte = 0; byte < cases[i].n_bytes; byte++)
            sundog_writer_u8(&writer, (uint8_t)(cases[i].bits >> (8 * byte)));
        gguf_builder_set(&builder, "n", cases[i].type, &writer);
        g_autoptr(SundogGguf) gguf = open_built(&builder);
        uint64_t value = 0;
        g_assert_true(sundog_gguf_get_uint(gguf, "n", &value) == cases[i].positive);
        g_assert_cmpuint(value, ==, cases[i].positive ? cases[i].bits : 0);
    }
}

static void
test_tensors(void)
{
    GgufBuilder builder;
    build_small(&builder);
    g_autoptr(SundogGguf) gguf = open_built(&builder);
    g_assert_cmpuint(sundog_gguf_get_n_tensors(gguf), ==, 3);
    const SundogGgufTensor *b = sundog_gguf_find_tensor(gguf, "b");
    g_assert_true(b == sundog_gguf_get_tensor(gguf, 1));
    g_assert_cmpstr(b->name, ==, "b");
    g_assert_cmpuint(b->n_bytes, ==, 120);
    g_assert_cmpuint(b->shape[0], ==, 64);
    g_assert_cmpuint(b->shape[1], ==, 3);
    g_assert_cmpuint(b->shape[2], ==, 1);
    g_assert_true(b->data == sundog_gguf_get_tensor(gguf, 0)->data + 32);
    g_assert_null(sundog_gguf_find_tensor(gguf, "d"));
    g_assert_cmpstr(sundog_gguf_type_name(3), ==, "Q4_1");
    g_assert_cmpstr(sundog_gguf_type_name(99), ==, "type 99");
}

static void
test_unknown_tensor_type(void)
{
    /* The rest of the file stays readable, as the header promises. */
    GgufBuilder builder;
    build_small(&builder);
    gguf_builder_get_tensor(&builder, "b")->type = 99;
    g_autoptr(SundogGguf) gguf = open_built(&builder);
    const SundogGgufTensor *b = sundog_gguf_find_tensor(gguf, "b");
    g_assert_cmpuint(b->n_bytes, ==, 0);
    g_assert_null(b->data);
    g_assert_nonnull(sundog_gguf_find_tensor(gguf, "c")->data);
}

static void
test_versions(void)
{
    static const struct {
        uint32_t version;
        const char *text; /* NULL: taken */
    } cases[] = {
        {0, "version 0, expected 2 or 3"},
        {1, "version 1, expected 2 or 3"},
        {2, NULL},
        {3, NULL},
        {4, "version 4, expected 2 or 3"},
        {0x03000000, "big-endian"},
        {UINT32_MAX, "version 4294967295"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        build_small(&builder);
        builder.version = cases[i].version;
        if (cases[i].text != NULL)
            expect_built_error(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED, cases[i].text);
        else
            sundog_gguf_free(open_built(&builder));
    }
}

static void
test_other_files(void)
{
    static const char *const texts[] = {
        "", "G", "GGU", "GGUF", "GGUF\3\0\0", "GGML1234", "<!DOCTYPE html><html>not found</html>"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GBytes) bytes = g_bytes_new(texts[i], strlen(texts[i]));
        expect_error(bytes, -1, "test.gguf at byte ");
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_gguf_open("/nowhere/x.gguf", &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    g_clear_error(&error);
    g_assert_null(sundog_gguf_open("/tmp", &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
}

static void
test_pipe(void)
{
    g_autofree char *folder = g_dir_make_tmp("gguf-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "pipe.gguf", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_null(sundog_gguf_open(path, &error)); /* and does not wait for a writer */
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    g_unlink(path);
    g_rmdir(folder);
}

/* Counts and lengths that the file cannot hold: nothing is allocated for them. */
static const uint64_t huge[] = {UINT64_C(1) << 30, UINT64_C(1) << 60, UINT64_MAX,
                                INT64_MAX,         UINT64_MAX - 7,    UINT64_C(1) << 32};

static void
test_huge_counts(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(huge) - 1; i++) {
        GgufBuilder builder;
        build_small(&builder);
        builder.n_keys = huge[i] - 1; /* UINT64_MAX means "as many as there are" */
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_TRUNCATED, "elements of at least");
        build_small(&builder);
        builder.n_tensors = huge[i] - 1;
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_TRUNCATED, "elements of at least");
    }
}

static void
set_huge_string(GgufBuilder *builder, uint64_t length)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u64(&writer, length);
    sundog_writer_bytes(&writer, "abc", 3);
    gguf_builder_set(builder, "huge", STRING, &writer);
}

static void
set_huge_array(GgufBuilder *builder, uint32_t type, uint64_t length)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u32(&writer, type);
    sundog_writer_u64(&writer, length);
    sundog_writer_bytes(&writer, "abcdefgh", 8);
    gguf_builder_set(builder, "huge", ARRAY, &writer);
}

static void
test_huge_lengths(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(huge); i++) {
        GgufBuilder builder;
        gguf_builder_init(&builder);
        set_huge_string(&builder, huge[i]);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_TRUNCATED, "bytes expected");
        for (uint32_t type = U8; type <= F64; type++) {
            if (type == ARRAY)
                continue;
            gguf_builder_init(&builder);
            set_huge_array(&builder, type, huge[i]);
            expect_built_error(&builder, SUNDOG_FORMAT_ERROR_TRUNCATED, "elements of at least");
        }
    }
}

static void
test_string_past_end(void)
{
    /* In an array the count is right and one of the strings is not. */
    for (uint64_t length = 4; length < 20; length++) {
        GgufBuilder builder;
        SundogWriter writer;
        gguf_builder_init(&builder);
        sundog_writer_init(&writer);
        sundog_writer_u32(&writer, STRING);
        sundog_writer_u64(&writer, 2);
        gguf_builder_write_string(&writer, "good");
        sundog_writer_u64(&writer, length);
        sundog_writer_bytes(&writer, "end", 3);
        gguf_builder_set(&builder, "words", ARRAY, &writer);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_TRUNCATED, "bytes expected, 3 left");
    }
}

static void
test_names(void)
{
    static const char *const names[] = {"", "a\nb", "\x1b[2J", "\xff\xfe", "a\x7f"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        GgufBuilder builder;
        gguf_builder_init(&builder);
        gguf_builder_set_u32(&builder, names[i], 1);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "a metadata key of ");
        gguf_builder_init(&builder);
        gguf_builder_add_tensor(&builder, names[i], SUNDOG_GGUF_F32, 1, 1, 4);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "a tensor's name of ");
    }
    /* The report's own file: 37 bytes with an empty key. */
    static const char small[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0\4\0\0\0\7";
    g_autoptr(GBytes) bytes = g_bytes_new(small, 37);
    expect_error(bytes, SUNDOG_FORMAT_ERROR_INVALID, "a metadata key of 0 bytes");
}

static void
test_value_types(void)
{
    static const uint32_t types[] = {13, 14, 99, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        GgufBuilder builder;
        SundogWriter writer;
        gguf_builder_init(&builder);
        sundog_writer_init(&writer);
        sundog_writer_u64(&writer, 0);
        gguf_builder_set(&builder, "odd", types[i], &writer);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "odd: value of type");
        gguf_builder_init(&builder);
        set_huge_array(&builder, types[i], 1);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "huge: array of type");
    }
    GgufBuilder builder;
    gguf_builder_init(&builder);
    set_huge_array(&builder, ARRAY, 1);
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "huge: array of type 9");
    gguf_builder_init(&builder);
    gguf_builder_set_bool(&builder, "truth", 2);
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "truth value is 2, expected 0 or 1");
}

static void
test_duplicates(void)
{
    GgufBuilder builder;
    build_small(&builder);
    GgufBuilderKey *last = builder.keys->pdata[builder.keys->len - 1];
    g_free(last->name);
    last->name = g_strdup("test.count");
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "key test.count stands twice");
    build_small(&builder);
    gguf_builder_add_tensor(&builder, "b", SUNDOG_GGUF_F32, 5, 1, 20);
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tensor b stands twice");
}

static void
test_alignment(void)
{
    static const uint32_t bad[] = {0, 1, 2, 7, 24, 33, 1u << 21, 1u << 31, UINT32_MAX};
    GgufBuilder builder;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        build_small(&builder);
        gguf_builder_set_u32(&builder, "general.alignment", bad[i]);
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "general.alignment is ");
    }
    build_small(&builder);
    gguf_builder_set_string(&builder, "general.alignment", "32");
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "general.alignment is not");
    for (uint32_t alignment = 8; alignment <= 4096; alignment *= 2) {
        build_small(&builder);
        builder.alignment = alignment;
        gguf_builder_set_u32(&builder, "general.alignment", alignment);
        g_autoptr(SundogGguf) gguf = open_built(&builder);
        g_assert_cmpuint(sundog_gguf_get_n_tensors(gguf), ==, 3);
    }
}

static void
test_ranks(void)
{
    static const uint32_t ranks[] = {0, 5, 6, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(ranks); i++) {
        GgufBuilder builder;
        build_small(&builder);
        gguf_builder_get_tensor(&builder, "b")->rank = ranks[i];
        expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tensor b has rank ");
    }
}

static void
test_shapes(void)
{
    static const struct {
        uint64_t shape[4];
        int code;
        const char *text;
    } cases[] = {
        {{0, 1, 1, 1}, SUNDOG_FORMAT_ERROR_INVALID, "extent 0 in dimension 0"},
        {{64, 0, 1, 1}, SUNDOG_FORMAT_ERROR_INVALID, "extent 0 in dimension 1"},
        {{UINT64_C(1) << 32, UINT64_C(1) << 32, 1, 1}, SUNDOG_FORMAT_ERROR_INVALID, "2^63 values"},
        {{UINT64_MAX, 1, 1, 1}, SUNDOG_FORMAT_ERROR_INVALID, "2^63 values"},
        {{UINT64_C(1) << 21, UINT64_C(1) << 21, UINT64_C(1) << 21, 2},
         SUNDOG_FORMAT_ERROR_INVALID,
         "2^63 values"},
        {{UINT64_C(1) << 16, UINT64_C(1) << 16, UINT64_C(1) << 16, UINT64_C(1) << 16},
         SUNDOG_FORMAT_ERROR_INVALID,
         "2^63 values"},
        {{33, 1, 1, 1},
         SUNDOG_FORMAT_ERROR_INVALID,
         "rows of 33 values, expected a multiple of 32"},
        {{UINT64_C(1) << 60, 1, 1, 1}, SUNDOG_FORMAT_ERROR_TRUNCATED, "of the data, which has"},
        {{64, 1 << 20, 1, 1}, SUNDOG_FORMAT_ERROR_TRUNCATED, "of the data, which has"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        build_small(&builder);
        GgufBuilderTensor *tensor = gguf_builder_get_tensor(&builder, "b");
        tensor->rank = 4;
        memcpy(tensor->shape, cases[i].shape, sizeof tensor->shape);
        expect_built_error(&builder, cases[i].code, cases[i].text);
    }
    /* Bytes that wrap although the values do not. */
    GgufBuilder builder;
    build_small(&builder);
    GgufBuilderTensor *tensor = gguf_builder_get_tensor(&builder, "a");
    tensor->shape[0] = (UINT64_C(1) << 62) + 1;
    expect_built_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "2^64 bytes");
}

static void
test_offsets(void)
{
    static const struct {
        uint64_t offset;
        int code;
        const char *text;
    } cases[] = {
        {1, SUNDOG_FORMAT_ERROR_INVALID, "begins at 1 of the data, expected a multiple of 32"},
        {UINT64_MAX - 1, SUNDOG_FORMAT_ERROR_INVALID, "expected a multiple of 32"},
        {UINT64_MAX - 31, SUNDOG_FORMAT_ERROR_TRUNCATED, "of the data, which has 192"},
        {UINT64_C(1) << 63, SUNDOG_FORMAT_ERROR_TRUNCATED, "of the data, which has 192"},
        {96, SUNDOG_FORMAT_ERROR_TRUNCATED, "120 bytes at 96 of the data, which has 192"},
        {192, SUNDOG_FORMAT_ERROR_TRUNCATED, "120 bytes at 192 of the data, which has 192"},
        {0, SUNDOG_FORMAT_ERROR_INVALID, "share bytes"},
        {64, SUNDOG_FORMAT_ERROR_INVALID, "tensors b and c share bytes"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        build_small(&builder);
        gguf_builder_get_tensor(&builder, "b")->offset = cases[i].offset;
        expect_built_error(&builder, cases[i].code, cases[i].text);
    }
}

static void
test_truncated(void)
{
    /* Cut anywhere, the file is an error until the last tensor's data is whole. */
    GgufBuilder builder;
    build_small(&builder);
    g_autoptr(GBytes) whole = gguf_builder_build(&builder);
    size_t n_needed = g_bytes_get_size(whole) - (32 - 8);
    for (size_t n = 0; n < n_needed; n++) {
        g_autoptr(GBytes) cut = g_bytes_new(g_bytes_get_data(whole, NULL), n);
        expect_error(cut, SUNDOG_FORMAT_ERROR_TRUNCATED, "test.gguf at byte ");
    }
    gguf_builder_clear(&builder);
}

static void
test_colliding_names(void)
{
    /* Names that collide under the usual string hash ("Ez" and "FY" do) must not cost a square. */
    GgufBuilder builder;
    gguf_builder_init(&builder);
    for (unsigned i = 0; i < 1 << 15; i++) {
        char name[31];
        for (unsigned bit = 0; bit < 15; bit++)
            memcpy(name + 2 * bit, i >> bit & 1 ? "Ez" : "FY", 2);
        name[30] = '\0';
        gguf_builder_add_tensor(&builder, name, SUNDOG_GGUF_F32, 1, 1, 4);
    }
    clock_t begin = clock();
    g_autoptr(SundogGguf) gguf = open_built(&builder);
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gguf/values", test_values);
    g_test_add_func("/gguf/other-types", test_other_types);
    g_test_add_func("/gguf/integers", test_integers);
    g_test_add_func("/gguf/tensors", test_tensors);
    g_test_add_func("/gguf/unknown-tensor-type", test_unknown_tensor_type);
    g_test_add_func("/gguf/versions", test_versions);
    g_test_add_func("/gguf/other-files", test_other_files);
    g_test_add_func("/gguf/pipe", test_pipe);
    g_test_add_func("/gguf/huge-counts", test_huge_counts);
    g_test_add_func("/gguf/huge-lengths", test_huge_lengths);
    g_test_add_func("/gguf/string-past-end", test_string_past_end);
    g_test_add_func("/gguf/names", test_names);
    g_test_add_func("/gguf/value-types", test_value_types);
    g_test_add_func("/gguf/duplicates", test_duplicates);
    g_test_add_func("/gguf/alignment", test_alignment);
    g_test_add_func("/gguf/ranks", test_ranks);
    g_test_add_func("/gguf/shapes", test_shapes);
    g_test_add_func("/gguf/offsets", test_offsets);
    g_test_add_func("/gguf/truncated", test_truncated);
    g_test_add_func("/gguf/colliding-names", test_colliding_names);
    return g_test_run();
}
