//go:build linux && amd64

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVMNetem runs the program itself on a kernel without netem, and with it.
func TestVMNetem(t *testing.T) {
	rigvm.Need(t)
	program := filepath.Join(t.TempDir(), "eideticker")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	vm := rigvm.Boot(t, rigvm.Config{Files: map[string]string{"/bin/eideticker": program}, Modules: []rigvm.Module{{Name: "veth"}}})
	netsim := func(args ...string) rigvm.Result {
		t.Helper()
		res, err := vm.Run(t.Context(), rigvm.Command{Path: "/bin/eideticker", Args: append([]string{"netsim"}, args...)})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: exit code %d\n%s%s", strings.Join(args, " "), res.ExitCode, res.Stdout, res.Stderr)
		return res
	}
	for _, args := range [][]string{{"link", "--netem", "--", "true"}, {"certify", "--netem", "--quick", "none"}} {
		if res := netsim(args...); res.ExitCode != exitFailure || !strings.Contains(string(res.Stderr), "this kernel has no netem (module sch_netem), which a packet link does without: leave out --netem") {
			t.Errorf("%s", res.Stderr)
		}
	}
	if err := vm.Load(t.Context(), rigvm.Module{Name: "sch_netem"}); err != nil {
		t.Fatal(err)
	}
	// The program has the line, and what it sends goes over it.
	res := netsim("link", "--netem", "--profile", "none", "--rtt", "100ms", "--", "ping", "-c", "1", "198.18.0.1")
	if res.ExitCode != exitOK || !strings.Contains(string(res.Stdout), "1 packets received") || strings.Contains(string(res.Stderr), "down 0 packets") ||
		!strings.Contains(string(res.Stderr), "by the kernel's netem") {
		t.Errorf("exit code %d", res.ExitCode)
	}
	// Time in the VM is slow and uneven: that the line is late may be so, that it is early may not.
	res = netsim("certify", "--netem", "--quick", "--json", "none", "--rtt", "200ms", "--down", "2Mbit", "--up", "1Mbit")
	var got struct {
		Lines []lineJSON `json:"lines"`
	}
	if err := json.Unmarshal(res.Stdout, &got); err != nil || len(got.Lines) != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	const asked = 200 * time.Millisecond
	if l := got.Lines[0]; !l.Netem || l.Approximate || l.Seed != 0 || time.Duration(l.RTT.LeastNS) < asked-100*time.Microsecond || l.Down.Got > 2*l.Down.Asked || l.Loss.Lost != 0 {
		t.Errorf("%+v", l)
	}
}
