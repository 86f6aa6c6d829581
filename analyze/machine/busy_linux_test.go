package machine

import (
	"io"
	"os/exec"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// TestBusy: a program that computes is busy, also if it waits for a processor. One that waits for
// something else is not, nor one that computes from time to time.
func TestBusy(t *testing.T) {
	for script, want := range map[string]bool{
		"echo; while :; do :; done":                   true,
		"(echo; while :; do :; done) & wait":          true, // a descendant
		"echo; read line":                             false,
		"echo; while :; do read -t 0.01 line; done":   false,
		"echo; exec -a 'a) R' sleep 1000; : its name": false,
	} {
		cmd := exec.Command("bash", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = io.ReadFull(out, make([]byte, 1)) // it is there
		}
		if err != nil {
			t.Fatal(err)
		}
		got := Busy(t.Context(), cmd.Process.Pid)
		// A program that starts another one needs a processor until then.
		for end := time.Now().Add(10 * time.Second); got != "" && !want && time.Now().Before(end); {
			got = Busy(t.Context(), cmd.Process.Pid)
		}
		if (got != "") != want {
			t.Errorf("%s: %q", script, got)
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		_, _ = in.Close(), cmd.Wait() // it was killed
	}
}

// TestBusyThread: a thread needs a processor if it runs or waits for one. So does one that a
// profiler stops for a sample.
func TestBusyThread(t *testing.T) {
	const stat = "7 (page) S 1 7 7 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 2 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	const rest = " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 5 0 0 0 0 0 0 0 0 0 "
	for state, want := range map[string]string{"R": "Main", "S": "", "D": "", "S" + rest + "67108864 0": "Main",
		"S" + rest + "2147483647 0": "", "S" + rest + "0 67108864": ""} {
		root := fstest.MapFS{"proc/7/stat": {Data: []byte(stat)},
			"proc/7/task/8/stat": {Data: []byte("8 (Main) " + state + " 1")}}
		if got := busy(t.Context(), root, 7, time.Microsecond); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}
