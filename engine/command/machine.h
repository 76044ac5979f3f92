#pragma once

/* What this machine has, read from the system without opening any device. Linux. */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The processor's own name, or "processor"; owned by the caller. */
char *sundog_machine_dup_processor(void);
/* The instructions that the kernels use, as kernels.h names them; NULL where the plain ones have to do. */
const char *sundog_machine_get_instructions(void);
/* Bytes of memory in all and available now; false where the system does not tell. */
bool sundog_machine_get_memory(uint64_t *total, uint64_t *available);
/* Free bytes of the file system that holds a folder, for this user. */
bool sundog_machine_get_disk(const char *folder, uint64_t *free_bytes, GError **error);
/* Device files of NVIDIA cards, and the version of the kernel's driver: NULL where none is loaded, owned
 * by the caller. */
unsigned sundog_machine_count_nvidia_devices(void);
char *sundog_machine_dup_nvidia_driver(void);
