#pragma once

/*
 * The part of the CUDA driver's interface that replay uses, declared here, since neither its header nor
 * its library need be there when this is built; found with dlopen. Types and layouts are the driver's
 * own; a test compares them with its header where that is installed.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUkern_st *CUkernel;

typedef struct {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
} SundogCudaKernelNode;

typedef struct {
    unsigned char from_port;
    unsigned char to_port;
    unsigned char type;
    unsigned char reserved[5];
} SundogCudaEdgeData;

typedef struct {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int programmatic; /* stream serialization allowed */
    } value;
} SundogCudaLaunchAttribute;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    SundogCudaLaunchAttribute *attrs;
    unsigned numAttrs;
} SundogCudaLaunchConfig;

#define SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS 16
#define SUNDOG_CUDA_ATTRIBUTE_MAJOR 75
#define SUNDOG_CUDA_ATTRIBUTE_MINOR 76
#define SUNDOG_CUDA_FUNCTION_MAX_DYNAMIC_SHARED 8
#define SUNDOG_CUDA_FUNCTION_SHARED_CARVEOUT 9
#define SUNDOG_CUDA_LAUNCH_PROGRAMMATIC 6
#define SUNDOG_CUDA_EDGE_PROGRAMMATIC 1
#define SUNDOG_CUDA_PORT_PROGRAMMATIC 1
#define SUNDOG_CUDA_STREAM_NON_BLOCKING 1
#define SUNDOG_CUDA_EVENT_NO_TIMING 2
#define SUNDOG_CUDA_HOST_PORTABLE_MAPPED 3
#define SUNDOG_CUDA_NOT_READY 600
#define SUNDOG_CUDA_MAP_BF16 9
#define SUNDOG_CUDA_MAP_SWIZZLE_128B 3
#define SUNDOG_CUDA_MAP_PROMOTE_256B 3

/* X(field, symbol, arguments) */
#define SUNDOG_CUDA_FUNCTIONS(X)                                                                  \
    X(init, "cuInit", (unsigned))                                                                 \
    X(driver_version, "cuDriverGetVersion", (int *))                                              \
    X(device_count, "cuDeviceGetCount", (int *))                                                  \
    X(device_get, "cuDeviceGet", (CUdevice *, int))                                               \
    X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                                    \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                           \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                \
    X(context_set, "cuCtxSetCurrent", (CUcontext))                                                \
    X(error_string, "cuGetErrorString", (CUresult, const char **))                                \
    X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                       \
    X(memory_allocate, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                  \
    X(memory_free, "cuMemFree_v2", (CUdeviceptr))                                                 \
    X(memory_set, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))              \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))      \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))              \
    X(copy_on_device, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))       \
    X(host_allocate, "cuMemHostAlloc", (void **, size_t, unsigned))                               \
    X(host_free, "cuMemFreeHost", (void *))                                                       \
    X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned))                          \
    X(host_unregister, "cuMemHostUnregister", (void *))                                           \
    X(host_device_pointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr *, void *, unsigned))     \
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                                \
    X(module_unload, "cuModuleUnload", (CUmodule))                                                \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))             \
    X(function_attribute, "cuFuncSetAttribute", (CUfunction, int, int))                           \
    X(function_parameter, "cuFuncGetParamInfo", (CUfunction, size_t, size_t *, size_t *))         \
    X(stream_create, "cuStreamCreate", (CUstream *, unsigned))                                    \
    X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                                           \
    X(stream_synchronize, "cuStreamSynchronize", (CUstream))                                      \
    X(stream_query, "cuStreamQuery", (CUstream))                                                  \
    X(event_create, "cuEventCreate", (CUevent *, unsigned))                                       \
    X(event_destroy, "cuEventDestroy_v2", (CUevent))                                              \
    X(event_record, "cuEventRecord", (CUevent, CUstream))                                         \
    X(event_synchronize, "cuEventSynchronize", (CUevent))                                         \
    X(launch, "cuLaunchKernelEx", (const SundogCudaLaunchConfig *, CUfunction, void **, void **)) \
    X(tensor_map_encode, "cuTensorMapEncodeTiled",                                                \
      (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,       \
       const uint32_t *, int, int, int, int))                                                     \
    X(graph_create, "cuGraphCreate", (CUgraph *, unsigned))                                       \
    X(graph_destroy, "cuGraphDestroy", (CUgraph))                                                 \
    X(graph_add_kernel, "cuGraphAddKernelNode_v2",                                                \
      (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const SundogCudaKernelNode *))        \
    X(graph_add_edges, "cuGraphAddDependencies_v2",                                               \
      (CUgraph, const CUgraphNode *, const CUgraphNode *, const SundogCudaEdgeData *, size_t))    \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                           \
      (CUgraphExec *, CUgraph, unsigned long long))                                               \
    X(graph_upload, "cuGraphUpload", (CUgraphExec, CUstream))                                     \
    X(graph_launch, "cuGraphLaunch", (CUgraphExec, CUstream))                                     \
    X(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec))

typedef struct {
    void *library;
#define X(field, symbol, arguments) CUresult(*field) arguments;
    SUNDOG_CUDA_FUNCTIONS(X)
#undef X
} SundogCudaDriver;

/* The driver, opened and initialized once for the process; NULL and an error that says what is missing
 * where there is none, or one too old. Any thread. */
const SundogCudaDriver *sundog_cuda_driver_get(GError **error);

/* For tests: from now on this table stands for the driver; NULL ends it. Before any thread uses it. */
void sundog_cuda_driver_use(const SundogCudaDriver *driver);

/* False, and an error with the driver's own text, where the result is none of success. */
bool sundog_cuda_succeeded(const SundogCudaDriver *driver, CUresult result, const char *what,
                           GError **error);
