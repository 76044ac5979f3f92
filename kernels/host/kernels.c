/* Which instructions this processor and its system run, and each set's table of kernels. */

#include "kernels/host/kernels.h"
#include "kernels/host/kernel.h"

#if defined(__x86_64__)
#define SUNDOG_X86 1
#include <cpuid.h>
#endif

static const SundogKernel kernels[SUNDOG_N_HOST_SETS][SUNDOG_N_OPERATIONS] = {
#define X(NAME, text, version, arguments, parameters) \
    [SUNDOG_HOST_PLAIN][SUNDOG_OP_##NAME] = sundog_host_plain_##NAME,
    SUNDOG_OPERATIONS(X)
#undef X
#ifdef SUNDOG_X86
#define X(NAME, text, version, arguments, parameters)                      \
    [SUNDOG_HOST_AVX2][SUNDOG_OP_##NAME] = sundog_host_avx2_##NAME,        \
    [SUNDOG_HOST_AVX_VNNI][SUNDOG_OP_##NAME] = sundog_host_avxvnni_##NAME, \
    [SUNDOG_HOST_AVX512_VNNI][SUNDOG_OP_##NAME] = sundog_host_avx512_##NAME,
        SUNDOG_OPERATIONS(X)
#undef X
            [SUNDOG_HOST_AVX512_BF16][SUNDOG_OP_ATTENTION] = sundog_host_avx512bf16_ATTENTION,
#endif
};

#ifdef SUNDOG_X86
/* Asked for by hand, since clang's own test does not know the names. Their registers are those of AVX. */

static bool
supports_f16c(void)
{
    unsigned eax, ebx, ecx = 0, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

/* A feature of those that leaf 7.1 names. */
static bool
supports_later(int bit)
{
    unsigned eax = 0, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1u << bit) != 0;
}
#endif

/* The compiler's own test asks cpuid for the instructions and xgetbv whether the system saves their
 * registers. */
bool
sundog_host_supports(int set)
{
#ifdef SUNDOG_X86
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && supports_f16c();
    if (set == SUNDOG_HOST_AVX512_BF16)
        return sundog_host_supports(SUNDOG_HOST_AVX512_VNNI) && supports_later(5);
    if (set == SUNDOG_HOST_AVX512_VNNI)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vnni");
    if (set == SUNDOG_HOST_AVX_VNNI)
        return avx2 && supports_later(4);
    if (set == SUNDOG_HOST_AVX2)
        return avx2;
#endif
    return set == SUNDOG_HOST_PLAIN;
}

SundogHostSet
sundog_host_detect(void)
{
    int set = SUNDOG_N_HOST_SETS - 1;
    while (!sundog_host_supports(set))
        set--;
    return (SundogHostSet)set;
}

const char *
sundog_host_set_name(SundogHostSet set)
{
    static const char *const names[SUNDOG_N_HOST_SETS] = {
        [SUNDOG_HOST_PLAIN] = "plain",
        [SUNDOG_HOST_AVX2] = "avx2",
        [SUNDOG_HOST_AVX_VNNI] = "avx-vnni",
        [SUNDOG_HOST_AVX512_VNNI] = "avx512-vnni",
        [SUNDOG_HOST_AVX512_BF16] = "avx512-bf16",
    };
    return names[set];
}

SundogKernel
sundog_host_kernel(SundogOperationKind kind, SundogHostSet set)
{
    int from = set;
    while (kernels[from][kind] == NULL)
        from--;
    return kernels[from][kind];
}
