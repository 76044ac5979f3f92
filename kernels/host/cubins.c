/* Looking among the cubins that the build carries. */

#include "kernels/contract/cubins.h"

#include <string.h>

const SundogCubin *
sundog_cubin_find(const char *target, const char *name)
{
    for (const SundogCubin *cubin = sundog_cubins; cubin->target != NULL; cubin++)
        if (strcmp(cubin->target, target) == 0 && strcmp(cubin->name, name) == 0)
            return cubin;
    return NULL;
}
