/* Opening libcuda. */

#include "engine/replay/cuda-driver.h"

#include "engine/replay/replay.h"

#include <dlfcn.h>

/* Edges with kinds in graphs, and the driver's report of parameters, came with CUDA 12.4. */
#define LEAST_VERSION 12040

static bool
find_functions(SundogCudaDriver *driver, GError **error)
{
#define X(field, symbol, arguments)                                                           \
    *(void **)&driver->field = dlsym(driver->library, symbol);                                \
    if (driver->field == NULL) {                                                              \
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,                   \
                    "the NVIDIA driver has no %s: it is older than CUDA %d.%d needs", symbol, \
                    LEAST_VERSION / 1000, LEAST_VERSION % 1000 / 10);                         \
        return false;                                                                         \
    }
    SUNDOG_CUDA_FUNCTIONS(X)
#undef X
    return true;
}

static bool
check_version(const SundogCudaDriver *driver, GError **error)
{
    int version = 0;
    if (!sundog_cuda_succeeded(driver, driver->init(0), "starting the NVIDIA driver", error) ||
        !sundog_cuda_succeeded(driver, driver->driver_version(&version), "asking its version",
                               error))
        return false;
    if (version >= LEAST_VERSION)
        return true;
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                "the NVIDIA driver is for CUDA %d.%d, at least %d.%d is needed", version / 1000,
                version % 1000 / 10, LEAST_VERSION / 1000, LEAST_VERSION % 1000 / 10);
    return false;
}

static const SundogCudaDriver *stand_in;

void
sundog_cuda_driver_use(const SundogCudaDriver *driver)
{
    stand_in = driver;
}

const SundogCudaDriver *
sundog_cuda_driver_get(GError **error)
{
    if (stand_in != NULL)
        return stand_in;
    static GMutex lock;
    static SundogCudaDriver driver;
    static bool is_ready;
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&lock);
    if (is_ready)
        return &driver;
    if (driver.library == NULL)
        driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver.library == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                    "there is no NVIDIA driver here (%s); prepare the model for the host",
                    dlerror());
        return NULL;
    }
    is_ready = find_functions(&driver, error) && check_version(&driver, error);
    return is_ready ? &driver : NULL;
}

bool
sundog_cuda_succeeded(const SundogCudaDriver *driver, CUresult result, const char *what,
                      GError **error)
{
    const char *text = NULL;
    if (result == 0)
        return true;
    if (driver->error_string(result, &text) != 0 || text == NULL)
        text = "unknown error";
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE, "%s: %s (CUDA error %d)",
                what, text, result);
    return false;
}
