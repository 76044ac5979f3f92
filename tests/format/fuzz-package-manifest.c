/* The manifest of a package: what is taken must hold what the reading code relies on. */

#include "engine/format/package-folder.h"
#include "engine/format/package-manifest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#define HASH "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""

const char *const fuzz_seeds[] = {
    "{\"format\":0,\"members\":[]}",
    "{\"name\":\"tiny\",\"format\":0,\"members\":[{\"path\":\"weights/0\",\"bytes\":5000,"
    "\"segment_bytes\":4096,\"hashes\":[" HASH "," HASH "]},{\"path\":\"text/a\",\"bytes\":0,"
    "\"segment_bytes\":8388608,\"hashes\":[]}]}",
    "{\"format\":1,\"members\":{}}",
    NULL,
};

static void
check_member(const SundogMember *member)
{
    uint64_t n_bytes = 0;
    g_assert_true(sundog_package_check_path(member->path, NULL));
    for (size_t i = 0; i < member->n_segments; i++)
        n_bytes += sundog_member_get_segment_bytes(member, i);
    g_assert_cmpuint(n_bytes, ==, member->n_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogManifest) manifest = sundog_manifest_parse((const char *)data, n_bytes, &error);
    g_assert_true((manifest == NULL) == (error != NULL));
    for (guint i = 0; manifest != NULL && i < manifest->members->len; i++)
        check_member(manifest->members->pdata[i]);
    return 0;
}
