/* Small disks: tmpfs in a mount namespace of the test's own. */

#include "tests/library/small-disk.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

static bool is_possible;

void
small_disk_init(void)
{
    is_possible =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool
mount_size(const char *folder, size_t n_bytes, unsigned long flags)
{
    g_autofree char *options = g_strdup_printf("size=%zu", n_bytes);
    return mount("tmpfs", folder, "tmpfs", flags, options) == 0;
}

bool
small_disk_mount(const char *folder, size_t n_bytes)
{
    if (is_possible && mount_size(folder, n_bytes, 0))
        return true;
    g_test_skip("mounting a tmpfs needs root");
    return false;
}

void
small_disk_resize(const char *folder, size_t n_bytes)
{
    g_assert_true(mount_size(folder, n_bytes, MS_REMOUNT));
}

void
small_disk_set_read_only(const char *folder, bool read_only)
{
    g_assert_cmpint(mount("tmpfs", folder, "tmpfs", MS_REMOUNT | (read_only ? MS_RDONLY : 0), NULL),
                    ==, 0);
}

void
small_disk_unmount(const char *folder)
{
    g_assert_cmpint(umount2(folder, MNT_DETACH), ==, 0);
}

void
small_disk_fill(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "ballast", NULL);
    static const char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    g_assert_cmpint(fd, >=, 0);
    while (write(fd, zeros, sizeof zeros) > 0) {
    }
    g_assert_cmpint(errno, ==, ENOSPC);
    close(fd);
}
