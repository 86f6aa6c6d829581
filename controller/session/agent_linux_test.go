package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/internal/wire"
	"github.com/eideticker/eideticker/controller/profile"
)

// ahead is a board's clock, which is not the rig's.
type ahead struct{ timeline.Clock }

const aheadBy = time.Hour

func (a ahead) Now() timeline.Time { return a.Clock.Now().Add(aheadBy) }

// board is what an agent has beside a device: its keys go to a browser that runs, on a screen where
// pages are what they are full of.
type board struct {
	clock  timeline.Clock
	screen *painter

	mu    sync.Mutex
	typed string
	sent  []timeline.Interval // times of other text, on the rig's clock
}

func (b *board) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := timeline.Interval{Earliest: b.clock.Now()}
	for _, a := range actions {
		switch a := a.(type) {
		case input.Text:
			b.typed = a.Text
			if !strings.HasPrefix(a.Text, "http") {
				if err := b.screen.fill(0x8020a0); err != nil {
					return i, err
				}
				i.Latest = b.clock.Now()
				b.sent = append(b.sent, timeline.Interval{Earliest: i.Earliest.Add(-aheadBy),
					Latest: i.Latest.Add(-aheadBy)})
			}
		case input.KeyDown:
			if a.Key == "Enter" {
				if err := b.visit(strings.TrimSpace(b.typed)); err != nil {
					return i, err
				}
			}
		}
	}
	i.Latest = b.clock.Now()
	return i, nil
}

func (b *board) visit(address string) error {
	rgb, err := colourOf(address)
	if err != nil {
		return err
	}
	return b.screen.fill(rgb)
}

func (*board) Release(context.Context) error { return nil }
func (*board) Close() error                  { return nil }
func (*board) Info() input.Info {
	return input.Info{Driver: "hid", Device: "a board", Realism: input.Hardware}
}

// serveProfiles starts an agent that records profiles, and returns its address.
func serveProfiles(t *testing.T, token wire.Token) string {
	t.Helper()
	l, err := wire.Listen("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- (&profile.Agent{Token: token, Dir: t.TempDir()}).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestRunThroughAnAgent: keys go through a board whose clock is another, and each event has in its
// bounds when they were sent. Without the token nothing is.
func TestRunThroughAnAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("a run in real time on a display")
	}
	t.Parallel()
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 320, Height: 240})
	needProgram(t, err)
	defer display.Close()
	b := &board{clock: ahead{timeline.Monotonic()}}
	if b.screen, err = newPainter(display.Name()); err != nil {
		t.Fatal(err)
	}
	defer b.screen.close()
	write := func(token string) string {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const token = "a secret that both of them know"
	profiles := serveProfiles(t, token)
	l, err := wire.Listen("127.0.0.1:0", token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- remote.Serve(ctx, l, remote.Service{Driver: b, Clock: b.clock, Token: token})
	}()
	defer func() {
		stop()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	all := devices(t, fmt.Sprintf(`
board: {source: "x11:%[1]s?fps=60&cursor=0", input: "agent:%[2]s?token=%[3]s", network: lo,
  profile: "agent:%[5]s?token=%[3]s&of=session.test"}
stranger: {source: "x11:%[1]s?fps=60&cursor=0", input: "agent:%[2]s?token=%[4]s", network: lo,
  profile: "agent:%[5]s?token=%[4]s"}
`, display.Name(), l.Addr(), write(token), write("what a stranger thinks it is"), profiles))
	site := serveColours(t)
	run := func(name string) (*Record, *runfolder.Found, string) {
		t.Helper()
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t, d)
		o.Test = readTest(t, fmt.Sprintf(`name: board
url: %s/2040c0
end: still 500ms
timeout: 5m
measures: [fps]
profile: {native: samples}
steps:
  - wait: {colour: "#2040c0", timeout: 2m}
  - text: q
  - wait: {colour: "#8020a0", timeout: 2m}
`, site.URL))
		record, found, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return record, found, o.Dir
	}
	if record, _, _ := run("stranger"); record.State != Failed ||
		!strings.Contains(record.Reason, "agent at "+l.Addr().String()) || len(b.sent) > 0 {
		t.Errorf("a stranger: %s, %q", record.State, record.Reason)
	}
	record, found, dir := run("board")
	for range 2 { // agent and rig lose each other where both stand still for seconds
		if record.State != Failed || !strings.Contains(record.Reason, input.ErrGone.Error()) {
			break
		}
		t.Log(record.Reason)
		b.sent = nil
		record, found, dir = run("board")
	}
	if record.State != Passed {
		t.Fatalf("%s: %s", record.State, record.Reason)
	}
	if env := found.Results.Environment[result.EnvInput]; env != "hid, hardware" ||
		!strings.Contains(record.Input.Note, "the agent's clock is known within") {
		t.Errorf("input %q, %+v", env, record.Input)
	}
	notes := strings.Join(record.Notes, "\n")
	if p := found.Results.Profile; p == nil && (os.Geteuid() == 0 || !strings.Contains(notes, "perf ")) ||
		p != nil && (len(p.Threads) == 0 || p.Traces[0].ClockNS == 0) {
		t.Errorf("profile %+v, notes %s", found.Results.Profile, notes)
	}
	r, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for _, e := range r.Events() {
		if e.Source != input.EventSource {
			continue
		}
		if n++; n > len(b.sent) {
			break
		}
		truth := b.sent[n-1]
		if truth.Earliest < e.At.Add(-e.Uncertainty) || truth.Latest > e.At.Add(e.Uncertainty) {
			t.Errorf("it was sent in %v, and the event says %v ± %v", truth, e.At, e.Uncertainty)
		}
		if 2*e.Uncertainty <= truth.Width() {
			t.Errorf("the event is known better, to ± %v, than the board has it, %v: "+
				"what is not known of its clock is left out", e.Uncertainty, truth.Width())
		}
	}
	if n != 1 || len(b.sent) != 1 {
		t.Errorf("%d events of %d that were sent", n, len(b.sent))
	}
}
