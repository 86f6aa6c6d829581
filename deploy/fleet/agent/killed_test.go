package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/store"
)

// The rig that is killed: its folder, and where it ends.
const (
	killDir   = "EIDETICKER_TEST_DIR"
	killPoint = "EIDETICKER_TEST_KILL"
)

// TestMain is also the rig that tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, killed(dir, os.Getenv(killPoint)))
		os.Exit(1)
	}
	daemontest.Main(m)
}

// killed is a rig of a fleet that kills itself, as kill -9 does.
func killed(dir, point string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s, err := store.Open(ctx, daemontest.StoreOptions(dir))
	if err != nil {
		return err
	}
	at := func(name string) {
		if name == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is nothing behind it
			select {}
		}
	}
	o := daemontest.Options(dir, s, daemontest.Devices{daemontest.New("a")})
	o.Point = at
	d, err := daemon.New(o)
	if err != nil {
		return err
	}
	ao := options(dir, s, d.Queue(), d.Devices)
	ao.Point = func(name string) { at("agent: " + name) }
	a, err := agent.New(ao)
	if err != nil {
		return err
	}
	over := make(chan error, 2)
	go func() { over <- d.Run(ctx) }()
	go func() { over <- a.Run(ctx) }()
	return <-over
}

// TestAttemptKilled kills a rig at each step of an attempt. After a restart the attempt has one
// result, and it was not run twice.
//
// Fault: `kill -9` of a rig of a fleet in any phase of an attempt
func TestAttemptKilled(t *testing.T) {
	t.Parallel()
	const id = "s-killed.1"
	for i, tc := range []struct{ point, state string }{
		{"agent: accepted", "ok"}, {"queued", "ok"}, {"agent: submitted", ""}, {"begun", "interrupted"},
		{"recorded", "interrupted"}, {"ending", "interrupted"}, {"agent: packed", "ok"}, {"agent: ended", "ok"},
		{"agent: sent", "ok"}, {"agent: acknowledged", "ok"},
	} {
		t.Run(filepath.Base(tc.point), func(t *testing.T) {
			if testing.Short() && i%4 != 0 {
				return
			}
			t.Parallel()
			h, dir := newHub(t), t.TempDir()
			h.desire(assignment(id))
			if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), daemontest.Patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), killDir+"="+dir, killPoint+"="+tc.point)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL ||
				ctx.Err() != nil {
				t.Fatalf("it was not killed at %q: %v\n%s", tc.point, err, out)
			}
			r := daemontest.Start(t, dir, daemontest.Devices{daemontest.New("a")}, nil)
			_, stop := start(t, options(dir, r.Store, r.Queue(), r.Devices))
			if tc.point == "agent: acknowledged" { // the hub has it
				h.desire()
			}
			h.until(t, r, "the result", func() bool { return h.results[id].State != "" })
			h.desire()
			n := h.now().polls
			h.until(t, r, "two polls without results", func() bool { return h.polls > n+2 && len(h.poll.Ended) == 0 })
			stop()
			received := h.now()
			got := received.results[id]
			if tc.state == "" && got.State == "interrupted" { // its run had begun, or not yet
				tc.state = "interrupted"
			} else if tc.state == "" {
				tc.state = "ok"
			}
			if got.State != tc.state || len(received.wrong) > 0 {
				t.Errorf("%+v, want %s; %q", got, tc.state, received.wrong)
			}
			runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "run.json"))
			more, err2 := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "*", "run.json"))
			if len(runs)+len(more) > 1 || errors.Join(err, err2) != nil {
				t.Errorf("the attempt was run %d times: %v, %v", len(runs)+len(more), runs, more)
			}
			if tc.state == "ok" && (len(runs) != 1 || got.Set != id || received.light[id] == nil) {
				t.Errorf("%d runs, set %q, light folder of %d bytes", len(runs), got.Set, len(received.light[id]))
			}
			left, err := os.ReadDir(filepath.Join(dir, "fleet-agent"))
			if len(left) > 0 {
				t.Errorf("acknowledged folders are left: %v, %v", left, err)
			}
			var state struct{ Attempts []any }
			text, err := os.ReadFile(filepath.Join(dir, "fleet-agent.json"))
			if err == nil {
				err = json.Unmarshal(text, &state)
			}
			if err != nil || len(state.Attempts) > 0 {
				t.Errorf("the state has %v: %v", state, err)
			}
		})
	}
}
