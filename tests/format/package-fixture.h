#pragma once

/* A scratch folder with a keyring and a small package, for the tests of packages. */

#include "engine/format/package.h"

typedef struct {
    char *root;   /* removed with everything in it by clear */
    char *folder; /* where the package goes */
    SundogKeyring *keyring;
    size_t n_weight_bytes;
} PackageFixture;

void package_fixture_init(PackageFixture *fixture);
void package_fixture_clear(PackageFixture *fixture);
/* A path in the scratch folder; owned by the caller. */
char *package_fixture_path(const PackageFixture *fixture, const char *name);
/* Removes a path in the scratch folder with all beneath it. */
void package_fixture_remove(const PackageFixture *fixture, const char *name);
/* Writes a package of "weights/0" (a pattern of n_weight_bytes, 9 MiB if not changed), "text/empty"
 * (nothing) and "text/template" ("hello"), with {"name": NAME} as its manifest. */
void package_fixture_write(PackageFixture *fixture, const char *name);
