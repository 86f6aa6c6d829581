package runfolder

import (
	"context"
	"net/url"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// pages is a source that plays scenes one after another, each between markers.
type pages struct {
	*synth.Source
	scenes  []*synth.Source
	clocked bool
	between func(n int) // before scene n, but the first
	over    chan struct{}
}

func newPages(t *testing.T, size string, scenes ...string) *pages {
	t.Helper()
	p := &pages{over: make(chan struct{})}
	for _, name := range scenes {
		q := analyzetest.Must(url.ParseQuery("frames=40&markers=1&size=" + size))(t)
		s := analyzetest.Must(synth.Open(name, q))(t)
		t.Cleanup(func() { s.Close() })
		p.scenes = append(p.scenes, s)
	}
	p.Source = p.scenes[0]
	return p
}

func (p *pages) Info() capture.Info {
	in := p.Source.Info()
	in.Clocked = p.clocked
	return in
}

func (p *pages) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	defer close(p.over)
	size := p.Info().Format.Size()
	seq := uint64(0)
	for i, s := range p.scenes {
		if i > 0 && p.between != nil {
			p.between(i)
		}
		events(timeline.Event{At: timeline.Time(seq) * period, Source: "test", Kind: "navigation"})
		for n := range s.Truth().Frames {
			slot, err := ring.Acquire(ctx)
			if err != nil {
				return capture.UnlessEnded(ctx, err)
			}
			s.Render(n, slot.Bytes()[:size])
			slot.Commit(size, frame.Meta{Sequence: seq, Sampled: timeline.At(timeline.Time(seq) * period)})
			seq++
		}
	}
	return nil
}

// fileResults are those of the finished recording.
func fileResults(t *testing.T, path string, s Settings) *result.Results {
	t.Helper()
	r := analyzetest.Must(recording.Open(path))(t)
	defer r.Close()
	found := analyzetest.Must(Run(t.Context(), r, s, "test", silent{}))(t)
	return &found.Results
}

// A window's results are there before the next page is even begun: the source waits for them.
func TestResultsComeWhileItIsRecorded(t *testing.T) {
	for _, measures := range [][]string{nil, {"fps"}, {"speedindex", "tearing"}} {
		path := filepath.Join(t.TempDir(), "a.eid")
		src := newPages(t, "160x90", "page", "web", "checker")
		told := make(chan Ready, 10)
		var got []Ready
		src.between = func(int) {
			select {
			case r := <-told:
				got = append(got, r)
			case <-t.Context().Done():
			}
		}
		s := Settings{Measures: measures, Name: "a", Variants: []string{"pixel", "histogram"}}
		l := NewLive(t.Context(), LiveOptions{Settings: s, Path: path, Program: "test", Ready: func(r Ready) {
			told <- r
		}})
		analyzetest.Must(recorder.Record(t.Context(), src, path, recorder.Options{Watch: l}))(t)
		found, ready, behind, err := l.Results(t.Context(), silent{})
		if err != nil || behind || len(ready) != 3 || len(got) != 2 {
			t.Fatalf("%d ready, %d of them early, behind %v, %v", len(ready), len(got), behind, err)
		}
		want := fileResults(t, path, s)
		if !reflect.DeepEqual(found, want) {
			t.Errorf("%v:\nlive %+v\nfile %+v", measures, found, want)
		}
		for i := range ready {
			if !reflect.DeepEqual(ready[i].Window, want.Windows[i]) || ready[i].After <= 0 {
				t.Errorf("%v, window %d:\nlive %+v\nfile %+v", measures, i, ready[i], want.Windows[i])
			}
			if w := ready[i].Window; w.T0 == nil {
				t.Errorf("window %d has no T0", i)
			}
		}
	}
}

// Whoever falls behind has the same results, from the file.
//
// Fault: The analysis beside a recording cannot keep up
func TestFallingBehindChangesNoResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eid")
	src := newPages(t, "160x90", "page", "web")
	src.clocked = true
	s := Settings{Name: "a", Variants: []string{"pixel"}}
	l := NewLive(t.Context(), LiveOptions{Settings: s, Path: path, Program: "test"})
	if _, err := recorder.Record(t.Context(), src, path, recorder.Options{Watch: &stuck{l, 60, src.over},
		RingBytes: 16 * (160*90*4 + 4096)}); err != nil {
		t.Fatal(err)
	}
	found, ready, behind, err := l.Results(t.Context(), silent{})
	if err != nil || !behind || len(ready) != 0 {
		t.Fatalf("%d ready, behind %v, %v", len(ready), behind, err)
	}
	if want := fileResults(t, path, s); len(want.Windows) != 2 || !reflect.DeepEqual(found, want) {
		t.Errorf("live %+v\nfile %+v", found, want)
	}
}

// stuck is a watcher that does not come back from a frame before the source is over.
type stuck struct {
	*Live
	at   int
	over chan struct{}
}

func (s *stuck) Frame(step *frame.Step, came timeline.Time) {
	s.Live.Frame(step, came)
	if step.Number == s.at {
		<-s.over
	}
}
