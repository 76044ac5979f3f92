/* A GPU and its modules. */

#include "engine/replay/cuda-device.h"

#include "engine/core/step.h"
#include "engine/replay/replay.h"
#include "kernels/contract/cubins.h"

#include <stdlib.h>
#include <string.h>

#define WHOLE_CARVEOUT 100

/* Whether code for the target runs on a device of this capability: an "a" ties it to its own, else any
 * later one of the same major runs it. */
static bool
runs(const char *target, int major, int minor)
{
    int number = atoi(target + 3);
    bool is_tied = g_str_has_suffix(target, "a");
    return number / 10 == major && (is_tied ? number % 10 == minor : number % 10 <= minor);
}

static bool
find_capability(const SundogCudaDriver *driver, CUdevice device, int *major, int *minor,
                GError **error)
{
    return sundog_cuda_succeeded(
               driver, driver->device_attribute(major, SUNDOG_CUDA_ATTRIBUTE_MAJOR, device),
               "asking a GPU's capability", error) &&
           sundog_cuda_succeeded(
               driver, driver->device_attribute(minor, SUNDOG_CUDA_ATTRIBUTE_MINOR, device),
               "asking a GPU's capability", error);
}

static bool
choose_device(SundogCudaDevice *device, const char *target, GError **error)
{
    const SundogCudaDriver *driver = device->driver;
    g_autoptr(GString) found = g_string_new(NULL);
    int n_devices = 0;
    if (!sundog_cuda_succeeded(driver, driver->device_count(&n_devices), "counting GPUs", error))
        return false;
    for (int i = 0; i < n_devices; i++) {
        int major, minor;
        if (!sundog_cuda_succeeded(driver, driver->device_get(&device->device, i), "taking a GPU",
                                   error) ||
            !find_capability(driver, device->device, &major, &minor, error))
            return false;
        driver->device_name(device->name, sizeof device->name, device->device);
        if (runs(target, major, minor))
            return true;
        g_string_append_printf(found, "%s%s (sm_%d%d)", found->len > 0 ? ", " : "", device->name,
                               major, minor);
    }
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                "the core is for %s; found: %s", target, found->len > 0 ? found->str : "no GPU");
    return false;
}

static bool
load_module(SundogCudaDevice *device, const SundogCore *core, const SundogLaunchModule *module,
            GError **error)
{
    uint8_t sha256[32];
    size_t n_digest = sizeof sha256;
    CUmodule loaded;
    if (g_hash_table_contains(device->modules, module->name))
        return true;
    g_autofree char *path = g_strdup_printf("kernels/%s.cubin", module->name);
    g_autoptr(GBytes) bytes = sundog_package_dup_member(sundog_core_get_package(core), path, error);
    if (bytes == NULL)
        return false;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes));
    g_checksum_get_digest(checksum, sha256, &n_digest);
    if (memcmp(sha256, module->sha256, sizeof sha256) != 0) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "%s is not the code that the launch lists were made for", path);
        return false;
    }
    if (!sundog_cuda_succeeded(device->driver,
                               device->driver->module_load(&loaded, g_bytes_get_data(bytes, NULL)),
                               path, error))
        return false;
    g_hash_table_insert(device->modules, g_strdup(module->name), loaded);
    return true;
}

static bool
load_modules(SundogCudaDevice *device, const SundogCore *core, GError **error)
{
    static const char *const programs[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE};
    for (size_t p = 0; p < G_N_ELEMENTS(programs); p++) {
        const SundogLaunchList *list = sundog_core_get_launch_list(core, programs[p]);
        /* Cores that give vectors or scores do not sample. */
        uint32_t n_modules = list != NULL ? sundog_launch_list_get_n_modules(list) : 0;
        for (uint32_t i = 0; i < n_modules; i++)
            if (!load_module(device, core, sundog_launch_list_get_module(list, i), error))
                return false;
    }
    return true;
}

bool
sundog_cuda_device_open(SundogCudaDevice *device, const SundogCore *core, GError **error)
{
    *device = (SundogCudaDevice){.driver = sundog_cuda_driver_get(error)};
    const SundogCudaDriver *driver = device->driver;
    if (driver == NULL || !choose_device(device, sundog_core_get_info(core)->target, error) ||
        !sundog_cuda_succeeded(driver, driver->context_retain(&device->context, device->device),
                               "starting the GPU", error))
        return false;
    device->modules = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    device->functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return sundog_cuda_succeeded(driver, driver->context_set(device->context), "using the GPU",
                                 error) &&
           sundog_cuda_succeeded(driver,
                                 driver->device_attribute(&device->n_multiprocessors,
                                                          SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS,
                                                          device->device),
                                 "asking a GPU's size", error) &&
           load_modules(device, core, error);
}

void
sundog_cuda_device_close(SundogCudaDevice *device)
{
    GHashTableIter iter;
    CUmodule module;
    if (device->modules != NULL) {
        g_hash_table_iter_init(&iter, device->modules);
        while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&module))
            device->driver->module_unload(module);
    }
    g_clear_pointer(&device->modules, g_hash_table_unref);
    g_clear_pointer(&device->functions, g_hash_table_unref);
    if (device->context != NULL)
        device->driver->context_release(device->device);
    device->context = NULL;
}

static bool
check_parameters(SundogCudaDevice *device, CUfunction function, const char *entry,
                 size_t n_parameter_bytes, GError **error)
{
    size_t offset = 0, n_bytes = 0;
    const SundogCudaDriver *driver = device->driver;
    if (!sundog_cuda_succeeded(driver, driver->function_parameter(function, 0, &offset, &n_bytes),
                               entry, error))
        return false;
    if (n_bytes == n_parameter_bytes)
        return true;
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                "%s takes %zu bytes of parameters, %zu were prepared", entry, n_bytes,
                n_parameter_bytes);
    return false;
}

CUfunction
sundog_cuda_device_find(SundogCudaDevice *device, const char *module, const char *entry,
                        size_t n_parameter_bytes, uint32_t n_shared_bytes, GError **error)
{
    const SundogCudaDriver *driver = device->driver;
    CUfunction function = g_hash_table_lookup(device->functions, entry);
    if (function == NULL) {
        CUmodule loaded = g_hash_table_lookup(device->modules, module);
        if (!sundog_cuda_succeeded(driver, driver->module_function(&function, loaded, entry), entry,
                                   error) ||
            !check_parameters(device, function, entry, n_parameter_bytes, error) ||
            !sundog_cuda_succeeded(driver,
                                   driver->function_attribute(function,
                                                              SUNDOG_CUDA_FUNCTION_SHARED_CARVEOUT,
                                                              WHOLE_CARVEOUT),
                                   entry, error))
            return NULL;
        g_hash_table_insert(device->functions, g_strdup(entry), function);
    }
    /* One limit a kernel: the largest that any of its launches asks for. */
    g_autofree char *key = g_strconcat(entry, " shared", NULL);
    uint32_t known = GPOINTER_TO_UINT(g_hash_table_lookup(device->functions, key));
    if (n_shared_bytes <= known)
        return function;
    if (!sundog_cuda_succeeded(driver,
                               driver->function_attribute(function,
                                                          SUNDOG_CUDA_FUNCTION_MAX_DYNAMIC_SHARED,
                                                          (int)n_shared_bytes),
                               entry, error))
        return NULL;
    g_hash_table_insert(device->functions, g_steal_pointer(&key), GUINT_TO_POINTER(n_shared_bytes));
    return function;
}

static const char *
find_target(int major, int minor)
{
    for (const SundogCubin *cubin = sundog_cubins; cubin->target != NULL; cubin++)
        if (runs(cubin->target, major, minor))
            return cubin->target;
    return NULL;
}

static bool
find_memory(SundogCudaCard *card, const SundogCudaDriver *driver, CUdevice device, GError **error)
{
    CUcontext context;
    size_t n_free = 0, n_all = 0;
    if (!sundog_cuda_succeeded(driver, driver->context_retain(&context, device), "starting the GPU",
                               error))
        return false;
    bool ok = sundog_cuda_succeeded(driver, driver->context_set(context), "using the GPU", error) &&
              sundog_cuda_succeeded(driver, driver->memory_info(&n_free, &n_all),
                                    "asking the GPU's memory", error);
    driver->context_release(device);
    card->free_bytes = n_free;
    card->total_bytes = n_all;
    return ok;
}

bool
sundog_cuda_card_find(SundogCudaCard *card, GError **error)
{
    const SundogCudaDriver *driver = sundog_cuda_driver_get(error);
    CUdevice device;
    int n_devices = 0;
    *card = (SundogCudaCard){0};
    if (driver == NULL ||
        !sundog_cuda_succeeded(driver, driver->driver_version(&card->cuda_version),
                               "asking the NVIDIA driver's version", error) ||
        !sundog_cuda_succeeded(driver, driver->device_count(&n_devices), "counting GPUs", error))
        return false;
    if (n_devices == 0) {
        g_set_error_literal(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                            "the NVIDIA driver finds no GPU; prepare the model for the host");
        return false;
    }
    if (!sundog_cuda_succeeded(driver, driver->device_get(&device, 0), "taking a GPU", error) ||
        !find_capability(driver, device, &card->major, &card->minor, error))
        return false;
    driver->device_name(card->name, sizeof card->name, device);
    card->target = find_target(card->major, card->minor);
    return find_memory(card, driver, device, error);
}
