/* GGUF models in several parts: joined, and parts that are missing, foreign or in another's place. */

#include "engine/format/error.h"
#include "engine/format/gguf.h"
#include "tests/format/gguf-builder.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    char *folder;
    char *first; /* the first part's path */
} Fixture;

/* Writes part `number` of `count` under the name of part `place` of 3, with one tensor. */
static void
put_part(const Fixture *fixture, unsigned place, uint32_t number, uint32_t count,
         const char *tensor)
{
    GgufBuilder builder;
    gguf_builder_init(&builder);
    if (number == 1)
        gguf_builder_set_string(&builder, "general.architecture", "test");
    gguf_builder_set_u32(&builder, "split.no", number - 1);
    gguf_builder_set_u32(&builder, "split.count", count);
    gguf_builder_set_u32(&builder, "split.tensors.count", 3);
    gguf_builder_add_tensor(&builder, tensor, SUNDOG_GGUF_F32, 4, place, 16 * place);
    g_autoptr(GBytes) bytes = gguf_builder_build(&builder);
    gguf_builder_clear(&builder);
    g_autofree char *path = sundog_gguf_split_dup_name(fixture->first, place);
    g_assert_true(g_file_set_contents(path, g_bytes_get_data(bytes, NULL),
                                      (gssize)g_bytes_get_size(bytes), NULL));
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    fixture->folder = g_dir_make_tmp("split-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->first = g_build_filename(fixture->folder, "Tiny-00001-of-00003.gguf", NULL);
    put_part(fixture, 1, 1, 3, "a");
    put_part(fixture, 2, 2, 3, "b");
    put_part(fixture, 3, 3, 3, "c");
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    for (unsigned i = 1; i <= 3; i++) {
        g_autofree char *path = sundog_gguf_split_dup_name(fixture->first, i);
        g_unlink(path);
    }
    g_rmdir(fixture->folder);
    g_free(fixture->folder);
    g_free(fixture->first);
}

static void
expect_error(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_gguf_open(path, &error));
    g_assert_cmpint(error->domain, ==, SUNDOG_FORMAT_ERROR);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
}

static void
test_joined(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogGguf) gguf = sundog_gguf_open(fixture->first, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sundog_gguf_get_n_tensors(gguf), ==, 3);
    const SundogGgufTensor *first = sundog_gguf_find_tensor(gguf, "a");
    const SundogGgufTensor *last = sundog_gguf_find_tensor(gguf, "c");
    g_assert_true(first == sundog_gguf_get_tensor(gguf, 0));
    g_assert_cmpuint(last->shape[1], ==, 3);
    g_assert_cmpuint(last->n_bytes, ==, 48);
    uint64_t n_bytes = 0;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    for (unsigned i = 1; i <= 3; i++) {
        g_autofree char *path = sundog_gguf_split_dup_name(fixture->first, i);
        g_autofree char *text = NULL;
        size_t length;
        g_assert_true(g_file_get_contents(path, &text, &length, NULL));
        g_checksum_update(checksum, (const guchar *)text, (gssize)length);
        n_bytes += length;
    }
    g_autofree char *sha256 = sundog_gguf_dup_sha256(gguf, NULL, NULL);
    g_assert_cmpuint(sundog_gguf_get_file_bytes(gguf), ==, n_bytes);
    g_assert_cmpstr(sha256, ==, g_checksum_get_string(checksum));
}

static void
test_missing(Fixture *fixture, gconstpointer data)
{
    g_autofree char *second = sundog_gguf_split_dup_name(fixture->first, 2);
    g_assert_cmpint(g_unlink(second), ==, 0);
    expect_error(fixture->first, "part 2 of 3 is missing: there is no");
    expect_error(fixture->first, "Tiny-00002-of-00003.gguf");
}

static void
test_foreign(Fixture *fixture, gconstpointer data)
{
    put_part(fixture, 2, 2, 4, "b");
    expect_error(fixture->first, "says that it is part 2 of 4, expected part 2 of 3");
    put_part(fixture, 2, 3, 3, "b");
    expect_error(fixture->first, "says that it is part 3 of 3, expected part 2 of 3");
    put_part(fixture, 2, 2, 3, "a");
    expect_error(fixture->first, "the tensor a stands in another part too");
    put_part(fixture, 2, 2, 3, "b");
    put_part(fixture, 1, 1, 5, "a");
    expect_error(fixture->first, "says that it is part 1 of 5, expected part 1 of 3");
}

/* A part that is whole in itself, and one whose directory is damaged. */
static void
test_damaged(Fixture *fixture, gconstpointer data)
{
    g_autofree char *third = sundog_gguf_split_dup_name(fixture->first, 3);
    GgufBuilder builder;
    gguf_builder_init(&builder);
    gguf_builder_set_string(&builder, "general.architecture", "test");
    gguf_builder_add_tensor(&builder, "c", SUNDOG_GGUF_F32, 4, 3, 48);
    g_autoptr(GBytes) whole = gguf_builder_build(&builder);
    gguf_builder_clear(&builder);
    g_assert_true(g_file_set_contents(third, g_bytes_get_data(whole, NULL),
                                      (gssize)g_bytes_get_size(whole), NULL));
    expect_error(fixture->first, "does not say which part it is");
    g_assert_true(g_file_set_contents(third, "GGUF", 4, NULL));
    expect_error(fixture->first, "Tiny-00003-of-00003.gguf at byte 4");
}

static void
test_names(Fixture *fixture, gconstpointer data)
{
    unsigned part, n_parts;
    g_assert_true(sundog_gguf_split_parse("x-00002-of-00010.gguf", &part, &n_parts));
    g_assert_cmpuint(part, ==, 2);
    g_assert_cmpuint(n_parts, ==, 10);
    static const char *const others[] = {"-00001-of-00002.gguf",
                                         "x-00000-of-00002.gguf",
                                         "x-00003-of-00002.gguf",
                                         "x-0001-of-0002.gguf",
                                         "x-00001-of-0000a.gguf",
                                         "x-00001-of-00002.bin",
                                         "x_00001-of-00002.gguf",
                                         "x.gguf",
                                         ""};
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_false(sundog_gguf_split_parse(others[i], &part, &n_parts));
    g_autofree char *second = sundog_gguf_split_dup_name(fixture->first, 2);
    g_autofree char *odd = g_build_filename(fixture->folder, "odd.gguf", NULL);
    expect_error(second, "is part 2 of 3: open the first one, ");
    g_assert_cmpint(g_rename(fixture->first, odd), ==, 0);
    expect_error(odd, "by which the others are found");
    g_assert_cmpint(g_unlink(odd), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*test)(Fixture *, gconstpointer);
    } tests[] = {{"/gguf-split/joined", test_joined},
                 {"/gguf-split/missing", test_missing},
                 {"/gguf-split/foreign", test_foreign},
                 {"/gguf-split/damaged", test_damaged},
                 {"/gguf-split/names", test_names}};
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, tear_down);
    return g_test_run();
}
