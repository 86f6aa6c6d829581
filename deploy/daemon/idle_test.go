package daemon_test

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/store"
)

// fickle starts a rig whose device has a source that goes and comes. Failures in a row are noted as
// the rig counts them.
func fickle(t *testing.T) (r *daemontest.Rig, f *daemontest.Fickle, failures func() []int) {
	t.Helper()
	f = &daemontest.Fickle{}
	counted := make(chan int, 10_000)
	r = daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, func(o *daemon.Options) {
		o.Open = f.Open
		o.RetryAfter = func(n int) time.Duration {
			counted <- n
			return time.Millisecond
		}
	})
	return r, f, func() (all []int) {
		for {
			select {
			case n := <-counted:
				all = append(all, n)
			default:
				return all
			}
		}
	}
}

const (
	cannot = "an idle device cannot be looked at"
	again  = "an idle device can be looked at again"
)

// A source that is gone is retried, with one event. Viewers see it when it is back.
//
// Fault: The source of an idle device disappears
func TestSourceComesBack(t *testing.T) {
	t.Parallel()
	r, f, failures := fickle(t)
	p, leave, err := r.Preview("a")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	var last uint64
	for turn := 1; turn <= 2; turn++ {
		r.Until("some tries", func() bool { return f.Tries() > 5 })
		if n := logged(t, r, cannot); n != turn {
			t.Errorf("turn %d: it was told %d times", turn, n)
		}
		f.Come()
		r.Until("a picture", func() bool {
			picture, _ := p.Latest()
			return picture != nil && picture.Number > last
		})
		r.Until("a line that all is well", func() bool { return logged(t, r, again) == turn })
		for i, n := range failures() {
			if n != i+1 {
				t.Fatalf("turn %d: failure %d is counted as %d", turn, i+1, n)
			}
		}
		picture, _ := p.Latest()
		last = picture.Number
		if turn == 1 {
			f.Go()
		}
	}
}

// A source that is gone gives no runs, however often its last seconds are kept. Frames kept when it
// went are a recording.
func TestKeepLastOfSourceThatGoes(t *testing.T) {
	t.Parallel()
	r, f, _ := fickle(t)
	if _, err := r.Record(t.Context(), "me",
		api.RecordParams{Device: "a", KeepLastNS: int64(time.Second)}); err != nil {
		t.Fatal(err)
	}
	runs := func() store.Page {
		page, err := r.Store.List(t.Context(), store.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	r.Until("some tries", func() bool { return f.Tries() > 5 })
	if page := runs(); page.Total != 0 {
		t.Errorf("%+v", page)
	}
	f.Come()
	r.Until("two seconds of frames", func() bool { return r.Figures().Captured["a"] > 120 })
	f.Go()
	r.Until("more tries", func() bool { return f.Tries() > 5 })
	page := runs()
	if page.Total != 1 || page.Runs[0].State != session.Failed {
		t.Fatalf("%+v", page)
	}
	kept := verified(t, r, page.Runs[0].ID)
	all := uint64(kept.Frames()) // on a busy machine some are late
	for _, gap := range kept.Gaps() {
		all += gap.Count
	}
	if n := uint64(kept.Frames()); n != page.Runs[0].Frames || n == 0 || all < 50 {
		t.Errorf("%d frames of %d, and the store says %d", n, all, page.Runs[0].Frames)
	}
	if page.Runs[0].Reason == "" {
		t.Error("nothing says why it broke off")
	}
}
