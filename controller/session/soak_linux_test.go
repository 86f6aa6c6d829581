package session

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/suite"
)

// soakPage stands green for some pictures, white for some, and then red. Pictures and no time: on a
// busy machine few come in a second.
const soakPage = `<!doctype html><title>soak</title><style>html { background: #0f0 }</style>
<script>
let pictures = 0
const next = () => {
  pictures++
  document.documentElement.style.background = pictures < 40 ? "#0f0" : pictures < 52 ? "#fff" : "#f00"
  if (pictures < 52) requestAnimationFrame(next)
}
requestAnimationFrame(next)
</script>`

// TestSoak makes many runs with real browsers. They leave nothing: processes and goroutines,
// descriptors and X clients, files and shared memory.
//
// Fault: A hundred runs in a row (`make soak`)
func TestSoak(t *testing.T) {
	needBrowsers(t, "chromium", "firefox")
	// Firefox shares all of our code, and takes longer to start; the device's tests start it more
	// than once
	soaks := map[string]int{"chromium": 2}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		soaks = map[string]int{"chromium": 100, "firefox": 10}
	}
	for browser, runs := range soaks {
		t.Run(browser, func(t *testing.T) {
			s := newSoak(t, browser, soakPage)
			var before leftovers
			for i := range runs {
				s.run(i)
				switch after := s.look(); i {
				case 0:
					before = after // the first opens what the runtime and the libraries keep
				default:
					s.same(i, before)
				}
				if t.Failed() {
					return
				}
			}
			s.sharesNothing(runs)
			t.Logf("%d runs, %v each", runs, (time.Since(s.began) / time.Duration(runs)).Round(time.Millisecond))
		})
	}
}

// soak is a row of runs, in a world of its own as far as the environment makes one.
type soak struct {
	*testing.T
	device  Device
	browser string
	test    *suite.Test
	page    *shownPage
	runs    string // folder of the runs
	// folders that must stay empty, by the variables that name them: for temporary files, home, and
	// for sockets
	world   map[string]string
	mark    string              // in the environment of all that is started
	shared  map[string]struct{} // what browsers had left of shared memory before
	screens map[string]struct{} // what X servers had
	began   time.Time
}

// shownPage is what browsers get.
type shownPage struct{ text atomic.Pointer[string] }

func (p *shownPage) set(text string) { p.text.Store(&text) }

func (p *shownPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte(*p.text.Load())) // a browser that has gone away gets nothing
}

func newSoak(t *testing.T, browser, page string) *soak {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "s") // short: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	s := &soak{
		T: t, browser: browser, page: &shownPage{}, runs: t.TempDir(), world: map[string]string{},
		mark: "EIDETICKER_SOAK_MARK=" + rand.Text(), began: time.Now(),
	}
	for name, variable := range map[string]string{"t": "TMPDIR", "h": "HOME", "r": "EIDETICKER_LOCK_DIR"} {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, dir)
		s.world[variable] = dir
	}
	name, value, _ := strings.Cut(s.mark, "=")
	t.Setenv(name, value)
	s.page.set(page)
	server := httptest.NewServer(s.page)
	t.Cleanup(server.Close)
	s.test = soakTest(server.URL)
	if s.device, err = localDevice(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	s.shared, s.screens = shared(t), displays(t)
	return s
}

// soakTest looks at a page of a moment.
func soakTest(address string) *suite.Test {
	return &suite.Test{
		Name: "soak", URL: address, Sync: suite.Sync{Markers: true}, Measures: []string{"fps"},
		Window: suite.Size{Width: 640, Height: 360}, Timeout: time.Minute,
	}
}

// localDevice is a browser on a display of this machine, whatever the user has configured.
func localDevice(dir string) (Device, error) {
	file := filepath.Join(dir, "devices.yaml")
	if err := os.WriteFile(file, []byte("local: {source: x11, input: x11, browsers: [chromium, firefox]}\n"),
		0o600); err != nil {
		return nil, err
	}
	devices, err := FindDevices(file)
	if err != nil {
		return nil, err
	}
	return devices.Find("local")
}

// run makes one run. Its folder must have the documented files only.
func (s *soak) run(i int) {
	s.Helper()
	o := Options{
		Test: s.test, Device: s.device, Browser: s.browser, Dir: filepath.Join(s.runs, fmt.Sprintf("run-%d", i)),
		Program: "test", Seed: 1, MaxLost: 1, NoPictures: true, Progress: untold{},
	}
	record, _, err := counted(s.T, o)
	if err != nil {
		s.Fatal(err)
	}
	if record.State != Passed {
		s.Fatalf("run %d: %s: %s", i, record.State, record.Reason)
	}
	want := []string{LogFile, runfolder.RecordingFile, runfolder.PageFile, result.FileName, RecordFile}
	slices.Sort(want)
	if got := names(s.T, o.Dir); !slices.Equal(got, want) {
		s.Errorf("run %d: its folder has %q, want %q", i, got, want)
	}
	if err := os.RemoveAll(o.Dir); err != nil { // a hundred of them are nobody's
		s.Fatal(err)
	}
}

// leftovers are what there is of this process after a run.
type leftovers struct {
	descriptors int
	goroutines  int
	processes   []string
	segments    int // of shared memory that this process has made
	files       []string
	displays    int // of the files, those of X servers that do not live
}

func (s *soak) look() leftovers {
	l := leftovers{descriptors: len(names(s.T, "/proc/self/fd")), goroutines: runtime.NumGoroutine(),
		segments: segments(s.T)}
	l.processes = marked(s.T, s.mark)
	for _, dir := range s.world {
		for _, name := range names(s.T, dir) {
			l.files = append(l.files, filepath.Join(dir, name))
		}
	}
	for path := range displays(s.T) {
		if _, there := s.screens[path]; !there {
			l.files, l.displays = append(l.files, path), l.displays+1
		}
	}
	return l
}

// same waits until resources end that end by themselves, such as connections of a killed client.
// Then nothing may be left.
func (s *soak) same(i int, before leftovers) {
	s.Helper()
	const limit = 2 * time.Minute
	var now leftovers
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		now = s.look()
		if len(now.processes) == 0 && len(now.files) == 0 && now.descriptors <= before.descriptors &&
			now.goroutines <= before.goroutines && now.segments <= before.segments {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	s.Errorf("after run %d: %+v; after the first %+v", i, now, before)
	if now.goroutines > before.goroutines {
		var all bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // it goes to memory
		s.Log(all.String())
	}
	for _, fd := range names(s.T, "/proc/self/fd") {
		if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && now.descriptors > before.descriptors {
			s.Logf("descriptor %s is %s", fd, to)
		}
	}
}

// sharesNothing wants that runs do not leave shared memory. What browsers of other programs leave
// meanwhile has the same names, so a few do not count.
func (s *soak) sharesNothing(runs int) {
	s.Helper()
	var left []string
	for path := range shared(s.T) {
		if _, there := s.shared[path]; !there {
			left = append(left, path)
		}
	}
	if len(left) > max(1, runs/10) {
		s.Errorf("%d runs, and %q are left", runs, left)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// marked are the programs that carry a mark in their environment, and the children of this process.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		stat, statErr := os.ReadFile(filepath.Join(dir, "stat"))
		if statErr != nil {
			continue // gone
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		child := len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid())
		if carries := err == nil && slices.Contains(strings.Split(string(environ), "\x00"), mark); carries || child {
			name, _, _ := strings.Cut(string(stat), ")")
			found = append(found, name+") "+fields[0])
		}
	}
	return found
}

// segments counts System V shared memory that this process has made, by /proc/sysvipc/shm, see
// proc(5).
func segments(t *testing.T) (n int) {
	t.Helper()
	raw, err := os.ReadFile("/proc/sysvipc/shm")
	if errors.Is(err, os.ErrNotExist) {
		return 0 // a kernel without it
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// shared are the names of browsers' shared memory that nobody has open.
func shared(t *testing.T) map[string]struct{} {
	t.Helper()
	found := map[string]struct{}{}
	for _, pattern := range []string{"/dev/shm/*hromium*", "/dev/shm/.*hromium*", "/dev/shm/*mozilla*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			found[path] = struct{}{}
		}
	}
	if len(found) == 0 {
		return found
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			delete(found, to)
		}
	}
	return found
}

// displays are sockets of X servers at which nobody listens, and locks of servers that do not live.
func displays(t *testing.T) map[string]struct{} {
	t.Helper()
	found := map[string]struct{}{}
	sockets, err := filepath.Glob("/tmp/.X11-unix/X*")
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	living := map[string]bool{}
	for line := range strings.Lines(string(listeners)) {
		const accepts = "00010000" // flag of a socket that takes connections, see proc_pid_net(5)
		if f := strings.Fields(line); len(f) == 8 && f[3] == accepts {
			living[f[7]] = true
		}
	}
	for _, path := range sockets {
		if !living[path] {
			found[path] = struct{}{}
		}
	}
	locks, err := filepath.Glob("/tmp/.X*-lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range locks {
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // gone meanwhile
		}
		pid, bad := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil || bad != nil || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			found[path] = struct{}{}
		}
	}
	return found
}
