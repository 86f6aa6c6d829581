package recorder

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// Who watches a circle sees every frame once, over all of its parts, and two who watch see the
// same.
func TestTogetherSeesACircle(t *testing.T) {
	var numbers [2][]uint64
	var watchers [2]*onlooker
	for i := range watchers {
		watchers[i] = &onlooker{frame: func(s *frame.Step) {
			numbers[i] = append(numbers[i], s.Meta.Sequence)
			watchers[i].flush()
		}}
	}
	src := &fakeSource{steps: run(0, 200, 0)}
	res, err := Record(t.Context(), src, filepath.Join(t.TempDir(), "a.eid"),
		Options{KeepLast: 300 * time.Millisecond, Watch: Together(watchers[0], watchers[1])})
	if err != nil || res.Stored != 30 {
		t.Fatalf("%d frames kept, %v", res.Stored, err)
	}
	for i, w := range watchers {
		if w.begun != 1 || w.ended != 1 || w.behind || len(numbers[i]) != 200 || numbers[i][199] != 199 {
			t.Errorf("watcher %d: begun %d, ended %d, behind %v, %d frames", i, w.begun, w.ended, w.behind,
				len(numbers[i]))
		}
	}
	Together(watchers[0], watchers[1]).(givenUpWatcher).GivenUp()
	if watchers[0].givenUp != 1 {
		t.Error("who was given up was not told")
	}
}

// Recordings that share a host leave it to whoever made it.
func TestHostOutlivesItsRecordings(t *testing.T) {
	h := NewHost(2)
	restored := 0
	h.restore = append(h.restore, func() { restored++ })
	for range 2 {
		if _, err := Record(t.Context(), &fakeSource{clocked: true, steps: run(0, 5, 0)},
			filepath.Join(t.TempDir(), "a.eid"), Options{Host: h}); err != nil {
			t.Fatal(err)
		}
	}
	if restored != 0 {
		t.Error("a recording closed the host")
	}
	h.Close()
	h.Close()
	if restored != 1 {
		t.Errorf("closed %d times", restored)
	}
}
