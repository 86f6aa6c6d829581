package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// Bug: as root, pages of others run without a sandbox and nobody is warned.
func TestUnsandboxed(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.org/": true, "http://192.0.2.1:80/x": true, "http://[2001:db8::1]/": true,
		"http://127.0.0.1:8000/": false, "http://[::1]/": false, "http://localhost:80": false,
		"file:///tmp/x.html": false, "about:blank": false, "page:gallery": false, "": false,
	} {
		if got := fromNetwork(address); got != want {
			t.Errorf("%q is from the network: %v", address, got)
		}
	}
	warning := device.SandboxWarning()
	want := warning != ""
	if os.Geteuid() == 0 && !strings.Contains(warning, "without its sandbox") {
		t.Errorf("root is not warned: %q", warning)
	}
	_, errOut := serving(t, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	errOut.line(t, "time=") // of the log
	for deadline := time.Now().Add(time.Minute); !strings.Contains(errOut.String(),
		"msg=ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(errOut)
		}
	}
	if got := want && strings.Contains(errOut.String(), warning); got != want {
		t.Errorf("serve warns: %v, want %v\n%s", got, want, errOut)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before a browser is started
	for address, foreign := range map[string]bool{"https://example.invalid/": true, "http://127.0.0.1:9/": false} {
		var printed output
		run(ctx, []string{"run", address, "-o", t.TempDir() + "/run"}, nil, &printed, &printed)
		if got := want && strings.Contains(printed.String(), warning); got != (want && foreign) {
			t.Errorf("run %s warns: %v\n%s", address, got, printed.String())
		}
	}
}
