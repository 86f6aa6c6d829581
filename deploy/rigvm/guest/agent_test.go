//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

// The port appears some time after its driver was loaded: here, between the third look for it and
// the fourth.
func TestAwaitPort(t *testing.T) {
	class, dev := t.TempDir(), t.TempDir()
	if _, err := awaitPort(class, dev, 0); err == nil || !strings.Contains(err.Error(), wire.PortName) {
		t.Errorf("without a port: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		made, began := make(chan error, 1), time.Now()
		time.AfterFunc(2*portPause+portPause/2, func() { made <- makePort(class, dev) })
		port, err := awaitPort(class, dev, time.Minute)
		if made := <-made; made != nil {
			t.Fatal(made)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer port.Close()
		if want := filepath.Join(dev, "vport0p1"); port.Name() != want {
			t.Errorf("opened %s, want %s", port.Name(), want)
		}
		if took := time.Since(began); took != 3*portPause {
			t.Errorf("found after %v, want %v", took, 3*portPause)
		}
	})
}

// makePort has a port of another name and ours appear, the device before its name.
func makePort(class, dev string) error {
	for port, name := range map[string]string{"vport0p0": "console", "vport0p1": wire.PortName} {
		if err := os.Mkdir(filepath.Join(class, port), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dev, port), nil, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(class, port, "name"), []byte(name+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}
