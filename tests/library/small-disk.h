#pragma once

/* A disk of few bytes at a folder, for tests of full and read-only disks. Needs root; the mounts are of
 * this process alone and go with it. */

#include <stdbool.h>
#include <stddef.h>

/* To be called first in main, before there are threads. */
void small_disk_init(void);
/* False where it cannot be done, after g_test_skip() with the reason. */
bool small_disk_mount(const char *folder, size_t n_bytes);
void small_disk_resize(const char *folder, size_t n_bytes);
void small_disk_set_read_only(const char *folder, bool read_only);
void small_disk_unmount(const char *folder);
/* Writes until nothing more fits. */
void small_disk_fill(const char *folder);
