#pragma once

/* A scratch folder with a keyring and a small package, for the tests of packages. */

#include "engine/format/package.h"

typedef struct {
    char *root;   /* removed with everything in it by clear */
    char *folder; /* where the package goes */
    SundogKeyring *keyring;
} PackageFixture;

void package_fixture_init(PackageFixture *fixture);
void package_fixture_clear(PackageFixture *fixture);
/* A path in the scratch folder; owned by the caller. */
char *package_fixture_path(const PackageFixture *fixture, const char *name);
/* Writes a package of "weights/0" (9 MiB of a pattern), "text/empty" (nothing) and
 * "text/template" ("hello"), with {"name": NAME} as its manifest. */
void package_fixture_write(PackageFixture *fixture, const char *name);
