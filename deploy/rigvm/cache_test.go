//go:build linux && !rigvm

package rigvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A cache that another process keeps locked is waited for, but not for ever.
func TestLockedCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("EIDETICKER_CACHE", cache)
	held, err := lockCache(t.Context(), filepath.Join(cache, "rigvm"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	Need(t)
	vm, err := start(t.Context(), Config{PrepareTimeout: 50 * time.Millisecond})
	if err == nil {
		vm.Kill()
		t.Fatal("a VM started")
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not prepared within 50ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockCache(ctx, filepath.Join(cache, "rigvm")); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "rigvm/lock") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "rigvm")); err != nil || len(left) != 1 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}
