package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// scene is a device whose screen shows a scripted scene, whatever is done to it.
type scene struct {
	name   string
	uri    string
	fails  error               // of Open
	acted  func(s *sceneStage) // what follows from input; nil: there is none
	note   string              // of its input
	closes func()              // what happens meanwhile
	spoils error               // of Close
	opened []string            // browsers, in order
	closed int
}

func (s *scene) Name() string { return s.name }

func (s *scene) Open(_ context.Context, w Wanted) (Stage, error) {
	s.opened = append(s.opened, w.Browser)
	if s.fails != nil {
		return nil, s.fails
	}
	return &sceneStage{scene: s, ended: make(chan struct{})}, nil
}

type sceneStage struct {
	*scene
	ended chan struct{}
}

func (s *sceneStage) Launch(context.Context, string) (timeline.Interval, error) {
	return timeline.At(timeline.Monotonic().Now()), nil
}

func (s *sceneStage) Load(context.Context, string) (timeline.Interval, error) {
	return timeline.Interval{}, errors.ErrUnsupported
}
func (s *sceneStage) Ended() <-chan struct{}      { return s.ended }
func (s *sceneStage) Err() error                  { return errors.New("killed") }
func (s *sceneStage) Source() string              { return s.uri }
func (s *sceneStage) Painter() controller.Painter { return nil }
func (s *sceneStage) About() result.Environment   { return result.Environment{result.EnvDUT: s.name} }

func (s *sceneStage) Input() input.Driver {
	if s.acted == nil {
		return nil
	}
	return sceneHand{s}
}

func (s *sceneStage) Close() error {
	if s.closes != nil {
		s.closes()
	}
	s.closed++
	return s.spoils
}

// sceneHand is a scene's input.
type sceneHand struct{ *sceneStage }

func (h sceneHand) Do(context.Context, timeline.Time, ...input.Action) (timeline.Interval, error) {
	h.acted(h.sceneStage)
	return timeline.At(timeline.Monotonic().Now()), nil
}
func (h sceneHand) Release(context.Context) error { return nil }
func (h sceneHand) Info() input.Info {
	return input.Info{Driver: "scene", Realism: input.System, Note: h.note}
}
func (h sceneHand) Close() error { return nil }

// typed is a step that follows when the content was seen to begin.
var typed = suite.Step{Action: suite.Text{Text: "a"}, Line: 1}

type untold struct{}

func (untold) Phase(string, int) (advance func(int), end func()) { return func(int) {}, func() {} }

// Green, content and red last over a second. A machine that stops delays them, so it sees each.
const (
	paced = "synth:page?size=160x90&fps=20&frames=24&markers=1&pace=steady"
	brief = "synth:page?size=96x64&fps=20&frames=24&markers=1&pace=steady"
	long  = "synth:page?size=160x90&fps=20&frames=4000&markers=1&pace=steady"
)

func sceneTest() *suite.Test {
	return &suite.Test{Name: "scene", URL: "http://scene.example/", Sync: suite.Sync{Markers: true},
		Measures: []string{"fps"}, Timeout: 2 * time.Minute}
}

func options(t *testing.T, d Device) Options {
	return Options{Test: sceneTest(), Device: d, Dir: filepath.Join(t.TempDir(), "run"), Program: "test", Seed: 1,
		MaxLost: 1, NoVideo: true, Progress: untold{}}
}

func TestRunFolder(t *testing.T) {
	t.Parallel()
	d := &scene{name: "scripted", uri: paced}
	o := options(t, d)
	began := time.Now()
	record, found, err := Run(t.Context(), o)
	within := time.Since(began)
	if err != nil || record.State != Passed || found == nil || len(found.Results.Windows) != 1 {
		t.Fatalf("%+v, %v", record, err)
	}
	if d.closed != 1 {
		t.Errorf("the device was closed %d times", d.closed)
	}
	for _, name := range []string{RecordFile, LogFile, runfolder.RecordingFile, result.FileName, runfolder.PageFile,
		runfolder.PicturesDir} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	var kept Record
	raw, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &kept); err != nil || kept.State != Passed ||
		kept.Environment[result.EnvDUT] != "scripted" || !slices.Equal(kept.Area, []int{0, 0, 160, 90}) {
		t.Errorf("%s, %v", raw, err)
	}
	if kept.Machine == nil || len(kept.Machine.Programs) > 5 {
		t.Errorf("machine %+v", kept.Machine)
	}
	r, err := recording.Open(filepath.Join(o.Dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	if kept.Recording != found.Results.Recording.ID || !isOf(&kept, r, nil) {
		t.Errorf("it is of recording %q, want %q", kept.Recording, found.Results.Recording.ID)
	}
	defer r.Close()
	if took, shown := time.Duration(record.ElapsedNS), time.Duration(found.Results.Recording.DurationNS); shown <= 0 ||
		took < shown || took > within || kept.ElapsedNS != record.ElapsedNS {
		t.Errorf("a run of %v with a recording of %v says that it took %v", within, shown, took)
	}
	for _, m := range r.Metadata() {
		if m.Name == runfolder.MetadataName && !strings.Contains(string(m.Value), `"dut":"scripted"`) {
			t.Errorf("the recording says it was made on %s", m.Value)
		}
	}
	if env := found.Results.Environment; env[result.EnvDUT] != "scripted" || env[result.EnvRigOS] == "" {
		t.Errorf("environment %v", env)
	}
	var kinds []string
	for _, e := range r.Events() {
		if e.Source == controller.EventSource {
			kinds = append(kinds, e.Kind)
		}
	}
	if want := []string{controller.Launching, controller.GreenSeen, controller.Began, controller.Ended}; !slices.Equal(
		kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
	if _, _, err := Run(t.Context(), o); !errors.Is(err, os.ErrExist) {
		t.Errorf("the same folder again: %v", err)
	}
}

// Fault: The browser crashes
// Fault: The page never turns red, or a step waits in vain
func TestFailedRunKeepsWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		device  *scene
		timeout time.Duration
		want    string
		frames  bool
	}{
		"device missing": {&scene{name: "d", fails: errors.New("no such thing")}, 0, "no such thing", false},
		"what it asks gives up": {&scene{name: "d", fails: fmt.Errorf("dial: %w", context.Canceled)},
			0, "dial: context canceled", false},
		"browser crashes": {&scene{name: "d", uri: long,
			acted: func(s *sceneStage) { close(s.ended) }}, 0, "the browser ended in the middle of the run: killed",
			true},
		"page never turns red": {&scene{name: "d", uri: long},
			6 * time.Second, "the test did not end within 6s", true},
		"recording ends": {&scene{name: "d", uri: "synth:page?size=160x90&frames=30&pace=realtime"}, 0,
			"the recording ended before the test did: source ended", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, tc.device)
			if tc.device.acted != nil {
				o.Test.Steps = []suite.Step{typed}
			}
			if tc.timeout > 0 {
				o.Test.Timeout = tc.timeout
			}
			record, _, err := Run(t.Context(), o)
			if err != nil || record.State != Failed || !strings.Contains(record.Reason, tc.want) {
				t.Errorf("%+v, %v", record, err)
			}
			raw, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
			if err != nil || !strings.Contains(string(raw), `"state": "failed"`) {
				t.Errorf("%s, %v", raw, err)
			}
			if !tc.frames {
				return
			}
			for _, file := range []string{runfolder.RecordingFile, LastFrameFile,
				result.FileName} {
				if _, err := os.Stat(filepath.Join(o.Dir, file)); err != nil {
					t.Error(err)
				}
			}
			if v, err := recording.Verify(t.Context(), filepath.Join(o.Dir, runfolder.RecordingFile),
				nil); err != nil || len(v.Problems) > 0 {
				t.Errorf("the recording: %v, %v", v.Problems, err)
			}
		})
	}
}

// Fault: Ctrl-C during a run
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &scene{name: "d", uri: long,
		acted: func(*sceneStage) { cancel() }}
	o := options(t, d)
	o.Test.Steps = []suite.Step{typed}
	record, _, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || record.State != Failed || record.Reason != "interrupted" || d.closed != 1 {
		t.Errorf("%+v, %v", record, err)
	}
	if _, err := recording.Open(filepath.Join(o.Dir, runfolder.RecordingFile)); err != nil {
		t.Error(err)
	}
}

// TestInterruptedAtTheEnd: a run that is stopped once all was played does not count, warm-up or
// not.
//
// Fault: Ctrl-C during a run
func TestInterruptedAtTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(t, &scene{name: "d", uri: brief, closes: cancel})
	o.Bare, o.WarmUp = true, true
	record, _, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || record.State != Failed || record.Reason != "interrupted" {
		t.Errorf("%+v, %v", record, err)
	}
}

func setOptions(t *testing.T, variants ...Variant) SetOptions {
	test := sceneTest()
	return SetOptions{Test: test, Variants: variants, Repeat: 3, Dir: filepath.Join(t.TempDir(), "set"),
		Program: "test", Seed: 3, MaxLost: 1, NoVideo: true, Progress: untold{}}
}

// TestFewVideos: a set with a limit of videos makes one of each variant's first run. A rejected run
// gets none.
func TestFewVideos(t *testing.T) {
	t.Parallel()
	for maxLost, want := range map[float64]string{1: "[a/run-01 b/run-01]", -1: "[]"} {
		o := setOptions(t, Variant{Called: "a", Device: &scene{name: "d", uri: brief}},
			Variant{Called: "b", Device: &scene{name: "d", uri: brief}})
		o.Repeat, o.Retries, o.MaxLost, o.NoVideo, o.Videos = 2, 0, maxLost, false, 1
		set, err := RunSet(t.Context(), o)
		if err != nil || len(set.Made) != 4 {
			t.Fatalf("%d runs, %v", len(set.Made), err)
		}
		filmed := []string{}
		for _, m := range set.Made {
			dir := filepath.Join(o.Dir, m.Dir)
			if _, err := os.Stat(filepath.Join(dir, runfolder.VideoFile)); err == nil {
				filmed = append(filmed, m.Dir)
			}
			if _, err := os.Stat(filepath.Join(dir, result.FileName)); err != nil {
				t.Error(err)
			}
		}
		slices.Sort(filmed)
		if got := fmt.Sprint(filmed); got != want {
			t.Errorf("max lost %v: videos of %s, want %s", maxLost, got, want)
		}
	}
}

// TestCooldownBeforeARetry: the pause comes before each further attempt, too; here it is long, and
// cut short.
//
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestCooldownBeforeARetry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := setOptions(t, Variant{Device: &scene{name: "d", uri: brief}, Browser: ""})
	o.Retries, o.MaxLost, o.Cooldown = 3, -1, time.Hour
	o.Ran = func(*Made) { cancel() }
	if set, err := RunSet(ctx, o); !errors.Is(err, context.Canceled) || len(set.Made) != 1 {
		t.Errorf("%d runs, %v", len(set.Made), err)
	}
}

// TestWarmUpThatFails: a failed warm-up is not a run of the set, but it ends the set.
func TestWarmUpThatFails(t *testing.T) {
	t.Parallel()
	o := setOptions(t, Variant{Device: &scene{name: "d", fails: errors.New("missing")}, Browser: ""})
	o.WarmUp = 1
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 1 || set.Counts()[Failed] != 0 || len(set.Failed()) != 1 {
		t.Errorf("%d runs, %v", len(set.Made), err)
	}
}

// Fault: The browser is not installed, or the device does not open
func TestSetGivesUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		device *scene
		runs   int
	}{
		"what can't begin":     {&scene{name: "d", fails: errors.New("missing")}, 1},
		"what fails each time": {&scene{name: "d", uri: "synth:page?size=96x64&frames=10&pace=realtime"}, maxFailures},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setOptions(t, Variant{Device: tc.device, Browser: ""})
			o.Repeat = 10
			set, err := RunSet(t.Context(), o)
			if err != nil || len(set.Made) != tc.runs || set.Counts()[Failed] != tc.runs {
				t.Errorf("%d runs, %v", len(set.Made), err)
			}
		})
	}
}

// Fault: Two runs want one device
func TestLock(t *testing.T) {
	t.Setenv("EIDETICKER_LOCK_DIR", t.TempDir())
	first, err := Locks("").Take(t.Context(), "dut/7", false)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := Locks("").Take(t.Context(), "dut/7", false); !errors.As(err, &busy) ||
		!strings.Contains(err.Error(),
			fmt.Sprintf("device dut/7 is in use by process %d (session.test of ", os.Getpid())) {
		t.Errorf("error %v", err)
	}
	if by := Locks("").Holder("dut/7"); by != busy.By || by == "" {
		t.Errorf("the holder is %q, want %q", by, busy.By)
	}
	if other, err := Locks("").Take(t.Context(), "dut-8", false); err != nil || other.Close() != nil {
		t.Errorf("another device: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Locks("").Take(ctx, "dut/7", true); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	got := make(chan error, 1)
	go func() {
		l, err := Locks("").Take(t.Context(), "dut/7", true)
		got <- errors.Join(err, l.Close())
	}()
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Errorf("who waits: %v", err)
	}
}

// TestLockFolderIsOne: what a shell has in its environment, and cron has not, makes no second
// folder.
func TestLockFolderIsOne(t *testing.T) {
	t.Setenv(LockVariable, "")
	want := lockFolder()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if got := lockFolder(); got != want {
		t.Errorf("%s, and without an environment %s", got, want)
	}
	mine := t.TempDir()
	t.Setenv(LockVariable, mine)
	if got := lockFolder(); got != mine {
		t.Errorf("%s, want %s", got, mine)
	}
}

func TestLockFolderOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EIDETICKER_LOCK_DIR", dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Locks("").Take(t.Context(), "d", false); err == nil ||
		!strings.Contains(err.Error(), "not a folder of this user alone") {
		t.Errorf("error %v", err)
	}
}

func TestAddress(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "my page.html")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"https://example.org/a?b": "https://example.org/a?b",
		"http://localhost:80/":    "http://localhost:80/",
		"example.org":             "https://example.org",
		"example.org/news":        "https://example.org/news",
		"example.org:8443/x":      "https://example.org:8443/x",
		"localhost:8000/x":        "http://localhost:8000/x",
		"192.0.2.1":               "http://192.0.2.1",
		file:                      "file://" + strings.ReplaceAll(file, " ", "%20"),
	} {
		if got, err := Address(text); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "framerat", "javascript:alert(1)", "https://", "no such.html", "a b.example",
		"--flag", "data:text/html,x", "ftp://example.org/"} {
		if got, err := Address(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

// TestRedPage: where a device cannot be painted on, the content is followed by a page that is red.
func TestRedPage(t *testing.T) {
	p, err := servePages(t.Context(),
		&suite.Test{URL: "https://a.example/?x=1&y=\"2\"", Sync: suite.Sync{Still: time.Second}}, nil, nil, t.TempDir(),
		onHost(loopback))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for address, want := range map[string]string{p.green: `href="https://a.example/?x=1&amp;y=&#34;2&#34;"`,
		p.red: "background: #f00"} {
		r, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close() // was only read
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s is %s, %v; want %s", address, body, err, want)
		}
	}
	painter := painterOf(&sceneStage{scene: &scene{}}, p.red)
	if err := painter.Red(t.Context()); !errors.Is(err, errors.ErrUnsupported) { // what this device's Load says
		t.Errorf("error %v", err)
	}
	if err := painter.Green(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

// TestGreenLinkGoesWhereTheTestDoes: a browser without an address bar is led by the green page, to
// the test's address, and nowhere else.
func TestGreenLinkGoesWhereTheTestDoes(t *testing.T) {
	l := greenLink{to: "http://a.example/x"}
	if _, err := l.follow(t.Context(), nil, "http://other.example/"); err == nil ||
		!strings.Contains(err.Error(), "no address bar") {
		t.Errorf("another address: %v", err)
	}
	// without a hand
	if _, err := l.follow(t.Context(), nil, "http://a.example/x"); !errors.Is(err, errors.ErrUnsupported) ||
		strings.Contains(err.Error(), "address bar") {
		t.Errorf("its own: %v", err)
	}
	if _, err := l.follow(t.Context(), nil, "http://a.example/x"); err == nil ||
		!strings.Contains(err.Error(), "address bar") {
		t.Errorf("once more: %v", err)
	}
}

// readTest reads a test file of this text.
func readTest(t *testing.T, text string) *suite.Test {
	t.Helper()
	test, err := suite.Parse("test.yaml", []byte(text), suite.Known{})
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// stepped is a clock that others move.
type stepped struct{ at timeline.Time }

func (s *stepped) Now() timeline.Time { return s.at }
