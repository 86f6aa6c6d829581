package agent

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"time"
)

// TestRejoin: a rig that joins the same hub again uses its new key, and forgets the hub's epoch.
func TestRejoin(t *testing.T) {
	t.Parallel()
	dir, seeds := t.TempDir(), make(chan string, 100)
	a, err := New(Options{Dir: dir, Look: time.Millisecond,
		Dial: func(_ Fleet, seed []byte, _ func() (string, error)) (Bus, error) {
			select {
			case seeds <- string(seed):
			default:
			}
			return nil, errors.New("no hub")
		}})
	if err != nil {
		t.Fatal(err)
	}
	join := func(key string) {
		f := Fleet{Hub: "https://hub:8430", Rig: "lab-07", Path: "/x", Key: key}
		if err := Write(dir, f, []byte(key), "jwt"); err != nil {
			t.Fatal(err)
		}
		a.enter(f)
	}
	join("one")
	if err := a.change(func(s *state) { s.Epoch = math.MaxUint64 }); err != nil {
		t.Fatal(err)
	}
	a.enter(a.Fleet())
	if a.state.Epoch != math.MaxUint64 {
		t.Error("the same key forgets the epoch")
	}
	join("two")
	var kept state
	if err := readJSON(dir+string(os.PathSeparator)+stateFile, &kept); err != nil || kept.Epoch != 0 ||
		kept.Key != "two" {
		t.Errorf("%+v, %v", kept, err)
	}
	if f, err := readFleet(dir); err != nil || f.Key != "two" {
		t.Errorf("%+v, %v", f, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if <-seeds != "two" {
			t.Error("the old key is used")
		}
		cancel()
	}()
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
}
