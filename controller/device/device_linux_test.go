package device

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// need skips a test on a developer's machine where a program is missing; the build machine has it.
func need(t *testing.T, err error) {
	t.Helper()
	var missing *MissingError
	if !errors.As(err, &missing) {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skipf("%v: nothing is started", err)
}

// children returns how many processes carry the mark.
func marks(t *testing.T, mark string) (n int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if marked(dir, mark) {
			n++
		}
	}
	return n
}

func TestDisplay(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(d *Display, cancel func())
		want error
	}{
		{"closed", func(d *Display, _ func()) { _ = d.Close() }, os.ErrClosed},
		{"cancelled", func(_ *Display, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d, err := StartDisplay(ctx, DisplayOptions{Width: 640, Height: 360})
			need(t, err)
			s, err := openScreen(d.Name())
			if err != nil {
				t.Fatal(err)
			}
			if s.width != 640 || s.height != 360 {
				t.Errorf("screen of %dx%d", s.width, s.height)
			}
			s.close()
			socket := "/tmp/.X11-unix/X" + d.Name()[1:]
			own, err := os.Stat(socket)
			if err != nil {
				t.Fatal(err)
			}
			if d.process.ended() != nil {
				t.Errorf("display says it ended: %v", d.process.ended())
			}
			tc.end(d, cancel)
			<-d.process.done
			if !errors.Is(d.process.ended(), tc.want) {
				t.Errorf("ended with %v, want %v", d.process.ended(), tc.want)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			// the next display, of another test, has the same number
			if is, err := os.Stat(socket); err == nil && os.SameFile(is, own) && is.ModTime().Equal(own.ModTime()) {
				t.Error("its socket is still there")
			}
			if n := marks(t, d.process.mark); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

func TestDisplayIsForThisUserOnly(t *testing.T) {
	d, err := StartDisplay(t.Context(), DisplayOptions{Width: 64, Height: 64})
	need(t, err)
	defer d.Close()
	hosts, err := d.root.allowed()
	if err != nil {
		t.Fatal(err)
	}
	if len(hosts) != 1 || !strings.HasPrefix(hosts[0], "localuser\x00") {
		t.Errorf("the display takes connections from %q", hosts)
	}
}

func TestDisplayRefusesSizes(t *testing.T) {
	if _, err := StartDisplay(t.Context(), DisplayOptions{Width: 10, Height: 10}); err == nil ||
		!strings.Contains(err.Error(), "10x10") {
		t.Errorf("error %v", err)
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartDisplay(t.Context(), DisplayOptions{})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Package != "xvfb" {
		t.Errorf("error %v", err)
	}
	for name, want := range map[string]string{"": "chromium", "chromium": "chromium", "firefox": "firefox-esr"} {
		if _, err := StartBrowser(t.Context(), BrowserOptions{Name: name, On: ":0", URL: "about:blank"}); err == nil ||
			!strings.Contains(err.Error(), "apt-get install "+want) {
			t.Errorf("browser %q: error %v", name, err)
		}
	}
	if _, err := StartBrowser(t.Context(), BrowserOptions{Name: "lynx", On: ":0", URL: "about:blank"}); err == nil ||
		!strings.Contains(err.Error(), "use chromium or firefox") {
		t.Errorf("error %v", err)
	}
}

func TestBrowserRefusesAddresses(t *testing.T) {
	for _, u := range []string{"", "--version", "example.org", "javascript:alert(1)", "http://%zz"} {
		if _, err := StartBrowser(t.Context(), BrowserOptions{URL: u}); err == nil ||
			!strings.Contains(err.Error(), "start browser") {
			t.Errorf("%q: error %v", u, err)
		}
	}
}

func TestProgramThatDiesSaysWhy(t *testing.T) {
	p, err := start(t.Context(), "thing", exec.Command("sh", "-c", "echo one >&2; echo no display for you >&2; exit 3"),
		syscall.SIGKILL, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	if got := p.ended().Error(); !strings.Contains(got, "thing ended by itself: exit status 3") ||
		!strings.Contains(got, "no display for you") {
		t.Errorf("error %q", got)
	}
}

// TestDescendantsEnd starts programs that leave the group and outlive their parent.
func TestDescendantsEnd(t *testing.T) {
	script := "setsid sleep 1000 & sleep 1000 & (trap '' TERM; sleep 1000; sleep 1000) & echo ready; exec sleep 1000"
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = os.Environ()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), "family", cmd, syscall.SIGKILL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	p.close()
	p.close()
	if n := marks(t, p.mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// Fault: `kill -9` of a program that started a browser
func TestOrphanedProfilesAreRemoved(t *testing.T) {
	tmp := t.TempDir()
	alive, err := newProfile(tmp, nil)
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(tmp, profilePrefix+"dead")
	young := filepath.Join(tmp, profilePrefix+"young")
	other := filepath.Join(tmp, "something-else")
	for _, dir := range []string{dead, young, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{alive.dir, dead, other} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := newProfile(tmp, map[string]string{"in/it": "x"})
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{alive.dir, young, other, next.dir}
	slices.Sort(want)
	slices.Sort(left)
	if !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	alive.remove()
	next.remove()
	if _, err := os.Stat(next.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("profile is still there: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	for range 1000 {
		if _, err := tl.Write([]byte("a line of some length\n")); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = tl.Write([]byte("the end\n"))
	if len(tl.bytes) > tailBytes || !strings.HasSuffix(tl.said(), "| the end") {
		t.Errorf("%d bytes, %q", len(tl.bytes), tl.said())
	}
}

// TestTailSaysWhatMatters: complaints about a missing message bus are left out, and the rest is
// short.
func TestTailSaysWhatMatters(t *testing.T) {
	const bus = "[812:830:1121/214242.031415:ERROR:dbus/bus.cc:408] Failed to connect to the bus: " +
		"Could not parse server address: Unknown address type\n" +
		"[812:812:1121/214242.041415:ERROR:dbus/object_proxy.cc:590] Failed to call method: " +
		"org.freedesktop.DBus.NameHasOwner: object_path= /org/freedesktop/DBus: unknown error type:\n"
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{strings.Repeat(bus, 100), ""},
		{"it has no memory left\n" + strings.Repeat(bus, 20), "; its last lines: it has no memory left"},
		{bus + "a\n\n" + bus + "b\n", "; its last lines: a | b"},
		{"1\n2\n3\n4\n5\n6\n7\n", "; its last lines: 2 | 3 | 4 | 5 | 6 | 7"},
		{strings.Repeat("x", 200) + "\n" + strings.Repeat("y", 200), "; its last lines: " + strings.Repeat("y", 200)},
		{strings.Repeat("é", 400), "; its last lines: " + strings.Repeat("é", 150) + "…"},
	} {
		var tl tail
		_, _ = tl.Write([]byte(tc.text))
		if got := tl.said(); got != tc.want {
			t.Errorf("of %.60q, %d bytes: %q, want %q", tc.text, len(tc.text), got, tc.want)
		}
	}
}

// TestGPU: only where there can be none is Chromium told not to use one.
func TestGPU(t *testing.T) {
	for _, tc := range []struct {
		on   BrowserOptions
		want bool
	}{{BrowserOptions{Display: &Display{}}, true}, {BrowserOptions{On: ":0"}, false}} {
		if got := slices.Contains(chromiumArguments("/tmp/p", 10, 10, tc.on), "--disable-gpu"); got != tc.want {
			t.Errorf("%+v: %v", tc.on, got)
		}
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("DEVICE_TEST_HOLD") != "" {
		hold()
		return
	}
	// Browsers wait for their pages most of the time, so more of them run than there are
	// processors.
	if err := flag.Set("test.parallel", "3"); err != nil { // before the command line's own is read
		panic(err)
	}
	os.Exit(m.Run())
}

// hold starts a display, says its name, and waits to be killed.
func hold() {
	d, err := StartDisplay(context.Background(), DisplayOptions{Width: 64, Height: 64})
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	os.Stdout.WriteString(d.process.mark + "\n")
	<-d.process.done
}

// TestNothingOutlivesThisProcess kills a process that has started a display.
func TestNothingOutlivesThisProcess(t *testing.T) {
	_, err := find("xvfb", "Xvfb")
	need(t, err)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "DEVICE_TEST_HOLD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 200)
	n, err := out.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	mark := strings.TrimSpace(string(b[:n]))
	if marks(t, mark) == 0 {
		t.Fatalf("no display runs; it said %q", mark)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	deadline := time.Now().Add(2 * time.Minute)
	for marks(t, mark) > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the display is still there")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestStoppedDisplayIsPutAway: a display removes its socket even if the machine stalls for longer
// than the time that programs get to end.
func TestStoppedDisplayIsPutAway(t *testing.T) {
	t.Parallel()
	d, err := StartDisplay(t.Context(), DisplayOptions{Width: 64, Height: 64})
	need(t, err)
	defer d.Close()
	socket := "/tmp/.X11-unix/X" + d.Name()[1:]
	own, err := os.Stat(socket)
	if err != nil {
		t.Fatal(err)
	}
	pid := d.process.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// one that was killed is none of ours
	time.AfterFunc(grace+grace/2, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	// the next display, of another test, has the same number
	if is, err := os.Stat(socket); err == nil && os.SameFile(is, own) && is.ModTime().Equal(own.ModTime()) {
		t.Error("its socket is still there")
	}
}
