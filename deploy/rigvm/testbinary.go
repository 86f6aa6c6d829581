//go:build linux

package rigvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tag is the build tag of tests that run in the VM.
const tag = "rigvm"

// testBinary compiles the tests of a package for the guest, static, with the build tag rigvm and
// the given ones. It returns the file, which is in dir. The package is a path as for the go
// command; "." is the package of the running tests.
func testBinary(ctx context.Context, dir, pkg string, tags ...string) (string, error) {
	out := filepath.Join(dir, "guest.test")
	all := strings.Join(append([]string{tag}, tags...), ",")
	if err := goBuild(ctx, dir, "test", "-c", "-buildvcs=false", "-ldflags=-s -w", "-tags", all, "-o", out,
		pkg); err != nil {
		return "", fmt.Errorf("compile tests of %s for the VM: %w", pkg, err)
	}
	if _, err := os.Stat(out); err != nil {
		return "", fmt.Errorf("compile tests of %s for the VM: it has none", pkg)
	}
	return out, nil
}
