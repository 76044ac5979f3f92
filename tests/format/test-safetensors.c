/*
 * Safetensors: what good files give back, and files that are damaged or hostile (reports A5, A6, A9 in
 * this format). Each bad file must give an error that names the thing, within a second.
 */

#include "engine/format/error.h"
#include "engine/format/safetensors.h"
#include "tests/format/safetensors-builder.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void
expect_bytes_error(GBytes *bytes, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    clock_t begin = clock();
    g_assert_null(sundog_safetensors_new_from_bytes(bytes, "test.safetensors", &error));
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
}

static void
expect_error(const char *header, size_t data_bytes, int code, const char *text)
{
    g_autoptr(GBytes) bytes = safetensors_build(header, data_bytes);
    expect_bytes_error(bytes, code, text);
}

static SundogSafetensors *
open_good(const char *header, size_t data_bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = safetensors_build(header, data_bytes);
    SundogSafetensors *tensors =
        sundog_safetensors_new_from_bytes(bytes, "test.safetensors", &error);
    g_assert_no_error(error);
    return tensors;
}

static void
test_values(void)
{
    g_autoptr(SundogSafetensors) tensors =
        open_good("{\"__metadata__\":{\"format\":\"pt\"},"
                  "\"b.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                  "\"a\\u002fb\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                  "\"none\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[16,16]}}  ",
                  16);
    g_assert_cmpuint(sundog_safetensors_get_n_tensors(tensors), ==, 3);
    const SundogSafetensor *b = sundog_safetensors_find(tensors, "b.weight");
    g_assert_cmpint(b->dtype, ==, SUNDOG_SAFETENSORS_BF16);
    g_assert_cmpuint(b->rank, ==, 2);
    g_assert_cmpuint(b->shape[0], ==, 2);
    g_assert_cmpuint(b->shape[1], ==, 3);
    g_assert_cmpuint(b->shape[2], ==, 1);
    g_assert_cmpuint(b->n_bytes, ==, 12);
    g_assert_cmpuint(b->data[0], ==, 4);
    const SundogSafetensor *a = sundog_safetensors_find(tensors, "a/b");
    g_assert_cmpuint(a->rank, ==, 0);
    g_assert_cmpuint(a->n_values, ==, 1);
    g_assert_cmpuint(sundog_safetensors_find(tensors, "none")->n_values, ==, 0);
    g_assert_null(sundog_safetensors_find(tensors, "__metadata__"));
    g_assert_cmpstr(sundog_safetensors_get_files(tensors)[0], ==, "test.safetensors");
}

/* A5: lengths that the file cannot hold are not believed. */
static void
test_header_lengths(void)
{
    static const uint64_t lengths[] = {3, 1u << 30, UINT64_C(1) << 60, UINT64_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        uint8_t file[10] = {0};
        memcpy(file, &lengths[i], sizeof lengths[i]);
        g_autoptr(GBytes) bytes = g_bytes_new(file, sizeof file);
        expect_bytes_error(bytes,
                           i == 0 ? SUNDOG_FORMAT_ERROR_TRUNCATED : SUNDOG_FORMAT_ERROR_INVALID,
                           i == 0 ? "bytes expected" : "a header of");
    }
    for (size_t n = 0; n < 8; n++) {
        g_autoptr(GBytes) bytes = g_bytes_new("\1\0\0\0\0\0\0", n);
        expect_bytes_error(bytes, SUNDOG_FORMAT_ERROR_TRUNCATED, "bytes expected");
    }
}

static void
test_header_text(void)
{
    expect_error("", 0, SUNDOG_FORMAT_ERROR_INVALID, "the text ends");
    expect_error("[]", 0, SUNDOG_FORMAT_ERROR_INVALID, "an object expected");
    expect_error("{\"a\":1,}", 0, SUNDOG_FORMAT_ERROR_INVALID, "a string expected");
    expect_error("{\"a\":{\"dtype\":\"F32\"}", 0, SUNDOG_FORMAT_ERROR_INVALID, "JSON");
    expect_error("{\"a\":1}", 0, SUNDOG_FORMAT_ERROR_INVALID, "tensor a is no object");
    expect_error("{\"a\xff\":1}", 0, SUNDOG_FORMAT_ERROR_INVALID, "UTF-8");
    /* Nesting is bounded before anything recurses. */
    g_autofree char *open = g_strnfill(100000, '[');
    g_autofree char *deep = g_strconcat("{\"a\":", open, NULL);
    expect_error(deep, 0, SUNDOG_FORMAT_ERROR_INVALID, "nested deeper");
}

/* A6: names. */
static void
test_names(void)
{
    const char *entry = "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}";
    g_autofree char *empty = g_strdup_printf("{\"\":%s}", entry);
    g_autofree char *control = g_strdup_printf("{\"a\\u0007b\":%s}", entry);
    g_autofree char *twice = g_strdup_printf("{\"a\":%s,\"a\":%s}", entry, entry);
    g_autofree char *letters = g_strnfill(1025, 'a');
    g_autofree char *longest = g_strdup_printf("{\"%s\":%s}", letters, entry);
    expect_error(empty, 1, SUNDOG_FORMAT_ERROR_INVALID, "a tensor's name of 0 bytes");
    expect_error(control, 1, SUNDOG_FORMAT_ERROR_INVALID, "control characters");
    expect_error(twice, 1, SUNDOG_FORMAT_ERROR_INVALID, "the tensor a stands twice");
    expect_error(longest, 1, SUNDOG_FORMAT_ERROR_INVALID, "a tensor's name of 1025 bytes");
}

/* A9: shapes and offsets that wrap, overlap, leave gaps or lead out of the file. */
static void
test_places(void)
{
    static const struct {
        const char *entry;
        int code;
        const char *text;
    } cases[] = {
        {"\"shape\":[1],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_UNSUPPORTED,
         "dtype is missing"},
        {"\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_UNSUPPORTED,
         "dtype is \"C64\""},
        {"\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_UNSUPPORTED,
         "dtype is missing"},
        {"\"dtype\":\"U8\",\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_INVALID,
         "shape is missing"},
        {"\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]",
         SUNDOG_FORMAT_ERROR_INVALID, "at most 8 numbers"},
        {"\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_INVALID,
         "no whole number"},
        {"\"dtype\":\"U8\",\"shape\":[1.5],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_INVALID,
         "no whole number"},
        {"\"dtype\":\"U8\",\"shape\":[\"1\"],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_INVALID,
         "no whole number"},
        {"\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,1]",
         SUNDOG_FORMAT_ERROR_INVALID, "more than 2^60 values"},
        {"\"dtype\":\"F64\",\"shape\":[2305843009213693953],\"data_offsets\":[0,8]",
         SUNDOG_FORMAT_ERROR_INVALID, "more than 2^60 values"},
        {"\"dtype\":\"U8\",\"shape\":[1]", SUNDOG_FORMAT_ERROR_INVALID, "data_offsets is no begin"},
        {"\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]", SUNDOG_FORMAT_ERROR_INVALID,
         "data_offsets is no begin"},
        {"\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]", SUNDOG_FORMAT_ERROR_INVALID,
         "data_offsets is no begin"},
        {"\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,2]", SUNDOG_FORMAT_ERROR_TRUNCATED,
         "which has 1"},
        {"\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9223372036854775806,"
         "9223372036854775807]",
         SUNDOG_FORMAT_ERROR_TRUNCATED, "which has 1"},
        {"\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[0,1]", SUNDOG_FORMAT_ERROR_INVALID,
         "has 1 bytes, expected 2"},
        {"\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]", SUNDOG_FORMAT_ERROR_INVALID,
         "1 bytes at the end belong to no tensor"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *header = g_strdup_printf("{\"a\":{%s}}", cases[i].entry);
        expect_error(header, 1, cases[i].code, cases[i].text);
    }
}

/* Two tensors of four bytes, the second from `begin` on. */
static void
expect_pair_error(int begin, size_t data_bytes, const char *text)
{
    g_autofree char *header =
        g_strdup_printf("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                        "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[%d,%d]}}",
                        begin, begin + 4);
    expect_error(header, data_bytes, SUNDOG_FORMAT_ERROR_INVALID, text);
}

static void
test_dense(void)
{
    expect_pair_error(3, 7, "the tensors a and b share bytes");
    expect_pair_error(0, 4, "share bytes");
    expect_pair_error(5, 9, "1 bytes before the tensor b");
}

/* A file cut anywhere gives an error and nothing else. */
static void
test_cut(void)
{
    g_autoptr(GBytes) whole =
        safetensors_build("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4);
    for (size_t n = 0; n < g_bytes_get_size(whole); n++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) cut = g_bytes_new_from_bytes(whole, 0, n);
        g_assert_null(sundog_safetensors_new_from_bytes(cut, "cut", &error));
        g_assert_nonnull(error);
    }
}

/* A directory of many tensors is read in less than a second. */
static void
test_many(void)
{
    g_autoptr(GString) header = g_string_new("{");
    for (int i = 0; i < 20000; i++)
        g_string_append_printf(
            header, "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
            i > 0 ? "," : "", i, i, i + 1);
    g_string_append_c(header, '}');
    g_autoptr(SundogSafetensors) tensors = open_good(header->str, 20000);
    g_assert_cmpuint(sundog_safetensors_find(tensors, "t19999")->data[0], ==, 19999 % 256);
}

/* --- Folders ------------------------------------------------------------------------------------ */

static char *
new_folder(void)
{
    g_autoptr(GError) error = NULL;
    char *folder = g_dir_make_tmp("safetensors-XXXXXX", &error);
    g_assert_no_error(error);
    return folder;
}

static void
put(const char *folder, const char *name, const void *data, size_t n_bytes)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(g_file_set_contents(path, data, (gssize)n_bytes, NULL));
}

static void
put_tensor(const char *folder, const char *file, const char *name)
{
    g_autofree char *header =
        g_strdup_printf("{\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", name);
    g_autoptr(GBytes) bytes = safetensors_build(header, 1);
    put(folder, file, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

static void
put_index(const char *folder, const char *text)
{
    put(folder, "model.safetensors.index.json", text, strlen(text));
}

static void
expect_folder_error(const char *folder, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_safetensors_open(folder, &error));
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
}

static void
test_folder(void)
{
    g_autofree char *folder = new_folder();
    expect_folder_error(folder, "holds no file NAME.safetensors");
    put_tensor(folder, "weights.safetensors", "a");
    g_autoptr(SundogSafetensors) only = sundog_safetensors_open(folder, NULL);
    g_assert_nonnull(sundog_safetensors_find(only, "a"));
    put_tensor(folder, "more.safetensors", "b");
    expect_folder_error(folder, "no model.safetensors.index.json that joins them");
    put_index(folder, "{\"metadata\":{},\"weight_map\":{\"a\":\"weights.safetensors\","
                      "\"b\":\"more.safetensors\"}}");
    g_autoptr(SundogSafetensors) both = sundog_safetensors_open(folder, NULL);
    g_assert_cmpuint(sundog_safetensors_get_n_tensors(both), ==, 2);
    g_assert_cmpstr(sundog_safetensors_get_files(both)[0], ==, "more.safetensors");
    put_tensor(folder, "model.safetensors", "c");
    g_autoptr(SundogSafetensors) single = sundog_safetensors_open(folder, NULL);
    g_assert_nonnull(sundog_safetensors_find(single, "c"));
    g_assert_cmpuint(sundog_safetensors_get_n_tensors(single), ==, 1);
}

/* Shards that are missing, foreign or lead elsewhere are named. */
static void
test_index(void)
{
    g_autofree char *folder = new_folder();
    put_tensor(folder, "1.safetensors", "a");
    put_index(folder, "{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}");
    expect_folder_error(folder, "2.safetensors: No such file");
    put_tensor(folder, "2.safetensors", "other");
    expect_folder_error(folder, "2.safetensors: the tensor b is missing");
    put_tensor(folder, "2.safetensors", "a");
    expect_folder_error(folder, "the tensor a stands twice");
    static const char *const names[] = {"../1.safetensors", "/1.safetensors", "..\\\\1.safetensors",
                                        ".1.safetensors",   "1.bin",          ""};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *index = g_strdup_printf("{\"weight_map\":{\"a\":\"%s\"}}", names[i]);
        put_index(folder, index);
        expect_folder_error(folder, "no name of a file");
    }
    put_index(folder, "{\"weight_map\":{\"a\":1}}");
    expect_folder_error(folder, "no name of a file");
    put_index(folder, "{\"weight_map\":{}}");
    expect_folder_error(folder, "no weight_map");
    put_index(folder, "{\"weight_map\":[]}");
    expect_folder_error(folder, "an object expected");
    put_index(folder, "{\"weight");
    expect_folder_error(folder, "model.safetensors.index.json: JSON, line 1");
}

static void
test_odd_files(void)
{
    g_autofree char *folder = new_folder();
    g_autofree char *path = g_build_filename(folder, "model.safetensors", NULL);
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    expect_folder_error(folder, "not a regular file");
    g_assert_cmpint(g_unlink(path), ==, 0);
    put(folder, "model.safetensors", "", 0);
    expect_folder_error(folder, "bytes expected");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/safetensors/values", test_values);
    g_test_add_func("/safetensors/a5/header-lengths", test_header_lengths);
    g_test_add_func("/safetensors/header-text", test_header_text);
    g_test_add_func("/safetensors/a6/names", test_names);
    g_test_add_func("/safetensors/a9/places", test_places);
    g_test_add_func("/safetensors/a9/dense", test_dense);
    g_test_add_func("/safetensors/a9/cut", test_cut);
    g_test_add_func("/safetensors/many", test_many);
    g_test_add_func("/safetensors/folder", test_folder);
    g_test_add_func("/safetensors/index", test_index);
    g_test_add_func("/safetensors/odd-files", test_odd_files);
    return g_test_run();
}
