package device

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestProfileIsUnlocked: the lock of a profile ends when the profile is removed. A process that is
// being started has a copy of its file.
func TestProfileIsUnlocked(t *testing.T) {
	p, err := newProfile(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(p.lock.Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	p.remove()
	f, err := os.Open(fmt.Sprint("/proc/self/fd/", inherited))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // was only read
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("lock of a removed profile: %v", err)
	}
}

// TestEnvironmentKeepsNoKeys: a browser does not write the secrets of TLS to where the environment
// of the program has them written.
func TestEnvironmentKeepsNoKeys(t *testing.T) {
	t.Setenv("SSLKEYLOGFILE", "/nowhere/keys")
	t.Setenv("SSLKEYLOGFILES", "another")
	p := &profile{dir: t.TempDir()}
	env := p.environment(":7")
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "SSLKEYLOGFILE=") }) {
		t.Error("a browser is told to keep the secrets of TLS")
	}
	for _, want := range []string{"SSLKEYLOGFILES=another", "DISPLAY=:7", "HOME=" + p.dir} {
		if !slices.Contains(env, want) {
			t.Errorf("its environment has no %s", want)
		}
	}
}
