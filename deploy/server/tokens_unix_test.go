//go:build unix

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// TestWhoOwnsTokens: tokens that root makes are those of the service, whose folder it is.
//
// Fault: A reader of the rig's disk or backup
func TestWhoOwnsTokens(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(path string) [2]uint32 {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sys := st.Sys().(*syscall.Stat_t)
		return [2]uint32{sys.Uid, sys.Gid}
	}
	tokens, err := OpenTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		if _, err := tokens.Add(name, api.Run, 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Dir(tokens.path), tokens.path} {
			if got, want := owner(path), owner(dir); got != want {
				t.Errorf("%s belongs to %v, and the folder to %v", path, got, want)
			}
		}
	}
}

// TestTokensOfTwo: when two programs change the tokens at once, all changes are there afterwards.
func TestTokensOfTwo(t *testing.T) {
	const programs, each = 4, 10
	dir := t.TempDir()
	var all sync.WaitGroup
	for p := range programs {
		tokens, err := OpenTokens(dir)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range each {
				if _, err := tokens.Add(fmt.Sprintf("t-%d-%d", p, i), api.View, 0, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	tokens, err := OpenTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := tokens.All(); err != nil || len(list) != programs*each {
		t.Errorf("%d tokens are left of %d, %v", len(list), programs*each, err)
	}
}
