//go:build linux

package rigvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// The cache holds:
//
//	lock                      locked by readers and writers;
//	NAME_VERSION_HASH.deb     the kernel's package as it came;
//	NAME_VERSION_HASH-…/      the package unpacked (boot, lib/modules), and SUMS;
//	apt/                      our own package lists, if the system's are not enough.
//
// Files are written under another name and then renamed, so they are complete. Their hashes are
// checked all the same. The package's is compared with apt's signed index each time, that of each
// used unpacked file with SUMS.

// cacheDir is where kernels are kept between runs.
func cacheDir() (string, error) {
	base := os.Getenv("EIDETICKER_CACHE")
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache (EIDETICKER_CACHE sets one): %w", err)
		}
		base = filepath.Join(user, "eideticker")
	}
	return filepath.Abs(filepath.Join(base, "rigvm"))
}

// lockCache makes the cache and locks it for this process. Whoever else holds it needs seconds, and
// is waited for.
func lockCache(ctx context.Context, dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", f.Name(), context.Cause(ctx)), f.Close())
		}
	}
}
