/* Programs from hostile bytes: read, check, print, evaluate; what was read writes back the same. */

#include "tests/core/core-builder.h"

void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    SundogWriter writer;
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    sundog_writer_init(&writer);
    sundog_program_write(program, &writer);
    add(writer.bytes->data, writer.bytes->len);
    sundog_writer_clear(&writer);
}

static void
check_round_trip(const SundogProgram *program)
{
    SundogWriter first;
    SundogWriter second;
    SundogReader reader;
    sundog_writer_init(&first);
    sundog_writer_init(&second);
    sundog_program_write(program, &first);
    sundog_reader_init(&reader, first.bytes->data, first.bytes->len, "program");
    g_autoptr(SundogProgram) again = sundog_program_read(&reader);
    g_assert_true(sundog_reader_finish(&reader, NULL));
    sundog_program_write(again, &second);
    g_assert_cmpmem(first.bytes->data, first.bytes->len, second.bytes->data, second.bytes->len);
    sundog_writer_clear(&first);
    sundog_writer_clear(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    SundogReader reader;
    g_autoptr(GError) error = NULL;
    sundog_reader_init(&reader, data, n_bytes, "program");
    g_autoptr(SundogProgram) program = sundog_program_read(&reader);
    if (!sundog_reader_finish(&reader, &error)) {
        g_assert_null(program);
        g_assert_nonnull(error);
        return 0;
    }
    sundog_program_check(program, &error);
    g_autofree char *text = sundog_program_print(program);
    g_autofree char *dot = sundog_program_print_dot(program);
    check_round_trip(program);
    return 0;
}
