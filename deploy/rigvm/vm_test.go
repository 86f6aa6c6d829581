//go:build linux && !rigvm

package rigvm

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestVM shares one machine between all that leaves it alive; what kills it comes last.
func TestVM(t *testing.T) {
	before := snapshot(t)
	vm := Boot(t, Config{
		Modules: []Module{{Name: "vivid", Options: []string{"n_devs=1", "node_types=0x1"}}},
		Files:   map[string]string{"/opt/hello": script(t, "echo hello from a file")},
	})
	for _, tc := range []struct {
		name string
		test func(*testing.T, *VM)
	}{
		{"commands", testCommands},
		{"output comes while a program runs", testLiveOutput},
		{"output beyond the bound", testBoundedOutput},
		{"commands side by side", testSideBySide},
		{"a command that is given up", testGivenUp},
		{"processes", testProcesses},
		{"files", testFiles},
		{"a file of 100 MB", testBigFile},
		{"modules", testModules},
		{"drivers", func(t *testing.T, vm *VM) { RunTests(t, vm, Tests{Run: "^TestDrivers$"}) }},
		{"the agent dies", testAgentDies},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, vm) })
	}
	if err := vm.Close(); err != nil {
		t.Error(err)
	}
	before.same(t)
}

// script makes a file on the host that the guest can execute.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// sh runs a line of shell in the guest that must succeed.
func sh(t *testing.T, vm *VM, line string) string {
	t.Helper()
	r, err := vm.Run(t.Context(), Command{Path: "sh", Args: []string{"-c", line}})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%s: exit code %d, %v: %s", line, r.ExitCode, err, r.Stderr)
	}
	return string(r.Stdout)
}

func testCommands(t *testing.T, vm *VM) {
	if !strings.HasPrefix(vm.release, "6.") && vm.release != strings.TrimSpace(sh(t, vm, "uname -r")) {
		t.Errorf("kernel %q", vm.release)
	}
	for _, tc := range []struct {
		name                 string
		command              Command
		stdout, stderr, fail string
		code                 int
	}{
		{"output and exit code", Command{Path: "sh", Args: []string{"-c", "echo out; echo err >&2; exit 7"}}, "out\n",
			"err\n", "", 7},
		{"environment and folder", Command{Path: "sh", Args: []string{"-c", `echo "$X"; pwd`}, Env: []string{"X=a b"},
			Dir: "/proc"}, "a b\n/proc\n", "", "", 0},
		{"standard input", Command{Path: "cat", Stdin: strings.NewReader("in\x00\xff")}, "in\x00\xff", "", "", 0},
		{"no standard input", Command{Path: "cat"}, "", "", "", 0},
		{"ended by a signal", Command{Path: "sh", Args: []string{"-c", "kill -9 $$"}}, "", "", "", 128 + 9},
		{"leaves a program behind", Command{Path: "sh", Args: []string{"-c", "sleep 1000 & echo started"}}, "started\n",
			"", "", 0},
		{"a file of the configuration", Command{Path: "/opt/hello"}, "hello from a file\n", "", "", 0},
		{"no such program", Command{Path: "nonsense"}, "", "",
			`run nonsense: in the VM: exec: "nonsense": executable file not found`, 0},
		{"no such folder", Command{Path: "true", Dir: "/nonsense"}, "", "", "no such file", 0},
		{"too many arguments", Command{Path: "true", Args: []string{strings.Repeat("x", 1<<17)}}, "", "",
			"more than 65536", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := vm.Run(t.Context(), tc.command)
			switch {
			case tc.fail != "":
				if err == nil || !strings.Contains(err.Error(), tc.fail) {
					t.Errorf("error %v, want %q in it", err, tc.fail)
				}
			case err != nil:
				t.Error(err)
			case string(r.Stdout) != tc.stdout || string(r.Stderr) != tc.stderr || r.ExitCode != tc.code || r.Truncated:
				t.Errorf("%+v, want %q, %q and %d", r, tc.stdout, tc.stderr, tc.code)
			}
		})
	}
}

// signal is a writer that signals its first write.
type signal struct {
	once  sync.Once
	heard chan struct{}
}

func newSignal() *signal { return &signal{heard: make(chan struct{})} }

func (s *signal) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.heard) })
	return len(b), nil
}

// testLiveOutput answers what a program says while it waits for the answer.
func testLiveOutput(t *testing.T, vm *VM) {
	asked := newSignal()
	ended := make(chan error, 1)
	go func() {
		_, err := vm.Run(t.Context(),
			Command{Path: "sh", Args: []string{"-c", "mkfifo /tmp/answer; echo well?; read x </tmp/answer"},
				Stdout: asked})
		ended <- err
	}()
	<-asked.heard
	if err := vm.writeFile(t.Context(), "/tmp/answer", []byte("yes\n"), 0o600); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func testBoundedOutput(t *testing.T, vm *VM) {
	var all bytes.Buffer
	r, err := vm.Run(t.Context(), Command{Path: "head", Args: []string{"-c", "9000000", "/dev/zero"}, Stdout: &all})
	if err != nil || len(r.Stdout) != maxOutput || !r.Truncated || all.Len() != 9000000 {
		t.Errorf("kept %d, truncated %v, written %d: %v", len(r.Stdout), r.Truncated, all.Len(), err)
	}
}

func testSideBySide(t *testing.T, vm *VM) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r, err := vm.Run(t.Context(),
				Command{Path: "sh", Args: []string{"-c", "seq 1 2000 | tail -n 1; exit $0", string(rune('0' + i))}})
			if err != nil || string(r.Stdout) != "2000\n" || r.ExitCode != i {
				t.Errorf("%d: %q, %d, %v", i, r.Stdout, r.ExitCode, err)
			}
		})
	}
	wg.Wait()
}

// testGivenUp ends a command and its children through its context; the machine stays usable.
func testGivenUp(t *testing.T, vm *VM) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := newSignal()
	go func() { <-started.heard; cancel() }()
	_, err := vm.Run(ctx, Command{Path: "sh", Args: []string{"-c", "sleep 98765 & echo started; wait"},
		Stdout: started})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left := sh(t, vm, "ps | grep '[9]8765' || true"); left != "" {
		t.Errorf("left behind: %s", left)
	}
	if _, err := vm.Run(ctx, Command{Path: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// testProcesses looks at a program that waits in the kernel.
func testProcesses(t *testing.T, vm *VM) {
	sh(t, vm, "sleep 98765 >/dev/null 2>&1 &")
	got := vm.processes(t.Context())
	_, after, found := strings.Cut(got, ": sleep 98765")
	if of, _, _ := strings.Cut(after, "process "); !found || !strings.Contains(of, "nanosleep") {
		t.Errorf("processes %s", got)
	}
	sh(t, vm, "killall sleep")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := vm.processes(ended); !strings.Contains(got, "not known: run sh: context canceled") {
		t.Errorf("of a machine that does not answer: %s", got)
	}
}

func testFiles(t *testing.T, vm *VM) {
	ctx := t.Context()
	all := make([]byte, 256*300)
	for i := range all {
		all[i] = byte(i)
	}
	for name, content := range map[string][]byte{"empty": nil, "one": {0}, "binary": all} {
		if err := vm.writeFile(ctx, "/tmp/new/"+name, content, 0o640); err != nil {
			t.Error(err)
		}
		got, err := vm.ReadFile(ctx, "/tmp/new/"+name)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if mode := sh(t, vm, "stat -c %a /tmp/new/one /opt/hello"); mode != "640\n755\n" {
		t.Errorf("modes %q", mode)
	}
	if got, err := vm.ReadFile(ctx, "/sys/class/video4linux/video0/name"); err != nil ||
		!strings.HasPrefix(string(got), "vivid") {
		t.Errorf("a file of sysfs: %q, %v", got, err)
	}
	host := filepath.Join(t.TempDir(), "host")
	for _, tc := range []struct {
		name string
		err  error
		want error
		text string
	}{
		{"not in the guest", vm.Get(ctx, "/nonsense", host), fs.ErrNotExist, "copy /nonsense out of the VM"},
		{"a folder of the guest", vm.Get(ctx, "/tmp", host), syscall.EISDIR, "/tmp"},
		{"not on the host", vm.putFile(ctx, "/nonsense", "/tmp/x"), fs.ErrNotExist, "/nonsense"},
		{"a folder of the host", vm.putFile(ctx, t.TempDir(), "/tmp/x"), nil, "not a regular file"},
		{"not writable in the guest", vm.writeFile(ctx, "/proc/version", []byte("x"), 0o600), nil, "/proc/version"},
		{"longer than the bound", func() error {
			_, err := vm.ReadFile(ctx, "/dev/zero")
			return err
		}(), nil, "more than 67108864 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.text) || tc.want != nil &&
				!errors.Is(tc.err, tc.want) {
				t.Errorf("error %v, want %v and %q in it", tc.err, tc.want, tc.text)
			}
		})
	}
	if _, err := os.Stat(host); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy that failed left a file: %v", err)
	}
}

func testBigFile(t *testing.T, vm *VM) {
	content := make([]byte, 100<<20)
	for i, random := 0, rand.NewChaCha8([32]byte{1}); i < len(content); i += 1 << 20 {
		_, _ = random.Read(content[i : i+1<<20])
	}
	host := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(host, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := vm.putFile(t.Context(), host, "/tmp/big"); err != nil {
		t.Fatal(err)
	}
	back := host + ".back"
	if err := vm.Get(t.Context(), "/tmp/big", back); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(back)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("came back with %d bytes, not as it was: %v", len(got), err)
	}
	sh(t, vm, "rm /tmp/big")
}

func testModules(t *testing.T, vm *VM) {
	for _, tc := range []struct {
		name   string
		module Module
		want   string // in the error; "" for none
	}{
		{"no such module", Module{Name: "nonsense"}, "load module nonsense: find module nonsense in kernel " +
			vm.release},
		{"not a name", Module{Name: "../x"}, "not a name of a kernel module"},
		{"an option for modprobe", Module{Name: "-r"}, "not a name of a kernel module"},
		{"no such option", Module{Name: "vivid", Options: []string{"nonsense=1"}},
			`module vivid has no option "nonsense"; it has`},
		{"two options in one", Module{Name: "vivid", Options: []string{"n_devs=1 x=2"}},
			"does not look like name=value"},
		{"loaded, now with options", Module{Name: "vivid", Options: []string{"n_devs=2"}}, "file exists"},
		{"loaded, and no options", Module{Name: "vivid"}, ""},
		{"built in", Module{Name: "unix"}, ""},
		{"uinput", Module{Name: "uinput"}, ""},
		{"USB, host and device in one", Module{Name: "dummy_hcd"}, ""},
		{"USB input gadget", Module{Name: "usb_f_hid"}, ""},
		{"input events", Module{Name: "evdev"}, ""},
		{"USB input host", Module{Name: "usbhid"}, ""},
		{"HID without a driver of its own", Module{Name: "hid-generic"}, ""},
		{"netem", Module{Name: "sch_netem"}, ""},
		{"Wi-Fi", Module{Name: "mac80211_hwsim", Options: []string{"radios=2"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := vm.loadModule(t.Context(), tc.module)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
	t.Run("again with other options", func(t *testing.T) {
		if err := vm.UnloadModule(t.Context(), "vivid"); err != nil {
			t.Fatal(err)
		}
		if err := vm.loadModule(t.Context(),
			Module{Name: "vivid", Options: []string{"n_devs=2", "node_types=0x1,0x1"}}); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, vm, "ls -d /dev/video*"); got != "/dev/video0\n/dev/video1\n" {
			t.Errorf("devices %q", got)
		}
		if err := vm.UnloadModule(t.Context(), "nonsense"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("unload one that is not there: %v", err)
		}
	})
}

// testAgentDies ends the machine: nobody could talk to it any more.
func testAgentDies(t *testing.T, vm *VM) {
	_, err := vm.Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "kill -9 $PPID; sleep 1000"}})
	var died *diedError
	if !errors.As(err, &died) || !strings.Contains(died.Console, "rigvm: init: the agent ended") {
		t.Errorf("error %v", err)
	}
	<-vm.done
	if _, err := vm.Run(t.Context(), Command{Path: "true"}); !errors.As(err, &died) {
		t.Errorf("a command after the end: %v", err)
	}
	if !errors.As(vm.endError(), &died) || died.Panic != "" {
		t.Errorf("the machine says %v", vm.endError())
	}
}

// TestVMPowerCut kills a machine in the middle of writing, and looks at the disk in another. That
// one then panics.
func TestVMPowerCut(t *testing.T) {
	before := snapshot(t)
	cfg := Config{Disk: &Disk{Path: filepath.Join(t.TempDir(), "disk with a, comma"), MB: 64}}
	vm := Boot(t, cfg)
	sh(t, vm, "seq 1 100000 >/disk/synced && sync && mount | grep -q /disk.*ext4")
	writing := newSignal()
	ended := make(chan error, 1)
	go func() {
		_, err := vm.Run(t.Context(), Command{
			Path:   "sh",
			Args:   []string{"-c", "while :; do seq 1 1000; sync; echo . >&2; done >/disk/growing"},
			Stderr: writing,
		})
		ended <- err
	}()
	<-writing.heard
	vm.Kill()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the command that ran says %v", err)
	}
	if !errors.Is(vm.endError(), os.ErrClosed) {
		t.Errorf("the machine says %v", vm.endError())
	}

	vm = Boot(t, cfg)
	same := "seq 1 100000 | cmp - /disk/synced && seq 1 1000 >/tmp/x && " +
		"head -n 1000 /disk/growing | cmp - /tmp/x && echo same"
	if got := sh(t, vm, same); got != "same\n" {
		t.Errorf("after the power cut: %q", got)
	}
	_, err := vm.Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "echo c >/proc/sysrq-trigger"}})
	var died *diedError
	if !errors.As(err, &died) || !strings.Contains(died.Panic, "sysrq triggered crash") ||
		!strings.Contains(err.Error(), "the guest's kernel panicked: sysrq triggered crash") {
		t.Errorf("a panic is reported as %v", err)
	}

	vm = Boot(t, cfg)
	sh(t, vm, "echo kept >/disk/last")
	if err := vm.Close(); err != nil {
		t.Error(err)
	}
	if err := vm.Close(); err != nil {
		t.Error("closed again:", err)
	}
	if !errors.Is(vm.endError(), os.ErrClosed) {
		t.Errorf("a machine that was closed says %v", vm.endError())
	}
	if !cleanlyUnmounted(t, cfg.Disk.Path) {
		t.Error("Close left the disk mounted")
	}
	before.same(t)
}

// cleanlyUnmounted reads the state of an ext4 file system: s_state and s_feature_incompat of its
// superblock (Documentation/filesystems/ext4/super.rst in the kernel's source).
func cleanlyUnmounted(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	super := make([]byte, 1024)
	if _, err := f.ReadAt(super, 1024); err != nil {
		t.Fatal(err)
	}
	const valid, needsRecovery = 1, 4
	return super[0x3A]&valid != 0 && super[0x60]&needsRecovery == 0
}

// TestVMThatDoesNotStart gives QEMU a machine whose processors stand still.
func TestVMThatDoesNotStart(t *testing.T) {
	stopped := []string{"-S"}
	for _, tc := range []struct {
		name string
		life time.Duration // of the context; 0: as long as it takes
		cfg  Config
		want string
	}{
		{"boot timeout", 0, Config{Devices: stopped, BootTimeout: time.Second},
			"the guest did not answer within 1s of its start; its console is empty"},
		{"timeout", 0, Config{Devices: stopped, Timeout: time.Second}, "it ran longer than its timeout of 1s"},
		{"context", 4 * time.Second, Config{Devices: stopped}, "context deadline exceeded"},
		{"context that ends before QEMU starts", time.Nanosecond, Config{Devices: stopped},
			"context deadline exceeded"},
		{"context that ends during the preparation", 50 * time.Millisecond, Config{Devices: stopped},
			"context deadline exceeded"},
		{"QEMU refuses", 0, Config{Devices: []string{"-device", "nonsense"}},
			"'nonsense' is not a valid device model name"},
		{"disk is not a file system", 0, Config{Disk: &Disk{Path: script(t, "")}}, "has no ext4 file system"},
		{"disk is a folder", 0, Config{Disk: &Disk{Path: t.TempDir()}}, "is not a file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := snapshot(t)
			ctx := t.Context()
			if tc.life > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.life)
				defer cancel()
			}
			_, err := bootFor(ctx, t, tc.cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			before.same(t)
		})
	}
}
