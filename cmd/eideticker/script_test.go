package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eideticker/eideticker/capture/video/media"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/built"
)

// aloneEnv has this program run tests and no scripts: it was started by a test, as somebody who may
// not read it, as scripts must.
const aloneEnv = "EIDETICKER_TEST_ALONE"

func TestMain(m *testing.M) {
	if os.Getenv(aloneEnv) != "" {
		os.Exit(m.Run())
	}
	if err := built.Media(); err != nil {
		log.Fatal(err)
	}
	if file := os.Getenv(fleetRigEnv); file != "" {
		os.Exit(serveFleetRig(file))
	}
	// Scripts and runs wait most of the time, so more of them run than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil { // before the command line's own is read
		log.Fatal(err)
	}
	testscript.Main(locked{m}, map[string]func(){"eideticker": main})
}

// locked runs tests with locks of devices of their own: other programs may use this machine.
type locked struct{ *testing.M }

// Run implements testscript.TestingM.
func (m locked) Run() int {
	dir, err := os.MkdirTemp("", "eideticker-test-*")
	if err == nil {
		err = os.Setenv(session.LockVariable, dir)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	return m.M.Run()
}

// TestScripts runs testdata/script/*.txtar: one per command or fault, in the words that a user
// would type.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		WorkdirRoot:         t.TempDir(), // the library's own is left behind where only some scripts run
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// devices of its own: another script, or program of this machine, has its own display
			env.Setenv(session.LockVariable, filepath.Join(env.WorkDir, ".tmp", "locks"))
			env.Setenv(media.Variable, os.Getenv(media.Variable))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":     cmdExit,
			"grows":    cmdGrows,
			"signal":   cmdSignal,
			"truncate": cmdTruncate,
			"fill":     cmdFill,
			"limited":  cmdLimited,
			"flip":     cmdFlip,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "browser":
				return canRun(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// exit CODE PROGRAM ARGS...: runs it and wants that exit code, or one of two given as 0|1. Output
// is found in stdout and stderr as usual.
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE PROGRAM ARGS...")
	}
	runErr := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := runErr.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if runErr != nil {
		ts.Fatalf("%v", runErr)
	}
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// patience bounds how long a test waits for what must happen; no result depends on it.
const patience = 5 * time.Minute

// grows PATTERN BYTES: waits until a file has at least that many bytes.
func cmdGrows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grows PATTERN BYTES")
	}
	want, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, file := range files {
			if st, err := os.Stat(file); err == nil && st.Size() >= want {
				return
			}
		}
	}
	ts.Fatalf("%s does not grow to %d bytes", args[0], want)
}

// signal NAME JOB: sends INT, TERM or KILL to a background command, which was started as exec …
// &JOB&.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal INT|TERM|KILL PIDFILE")
	}
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM,
		"KILL": syscall.SIGKILL}[args[0]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[0])
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, sig))
}

// truncate FILE BYTES: cuts the file, or cuts so many bytes off its end where BYTES begins with a
// minus.
func cmdTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	if n < 0 {
		st, err := os.Stat(path)
		ts.Check(err)
		n += st.Size()
	}
	ts.Check(os.Truncate(path, n))
}

// flip FILE PERMILLE: turns one bit in the middle of the file's byte at that thousandth of its
// length.
func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE PERMILLE")
	}
	at, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b[int64(len(b))*at/1000] ^= 0x10
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// fill FILE BYTES: makes a file whose bytes all depend on their place.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223 // Numerical Recipes' generator
		b[i] = byte(x >> 24)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// limited BYTES PROGRAM ARGS...: runs it with a limit on the size of files, which is how a full
// disk looks to it, and wants exit code 1. The signal that comes with the limit is ignored, as a
// shell's trap does.
func cmdLimited(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: limited KIB PROGRAM ARGS...")
	}
	signal.Ignore(syscall.SIGXFSZ)
	script := "trap '' XFSZ; ulimit -f " + args[0] + "; exec \"$@\""
	cmdExit(ts, false, append([]string{"1", "bash", "-c", script, "limited"}, args[1:]...))
}

func TestEveryCommandHasAnExample(t *testing.T) {
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range parser.Model.Children {
		if !c.Hidden && !strings.Contains(c.Detail, "\n  eideticker "+c.Name) {
			t.Errorf("%s --help has no example", c.Name)
		}
	}
}

func TestScriptsAreThere(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 10 {
		t.Errorf("%d scripts, %v", len(scripts), err)
	}
}
