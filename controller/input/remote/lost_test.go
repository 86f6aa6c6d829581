package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// Fault: The device disconnects in the middle of a touch
func TestConnectionLostDuringATouch(t *testing.T) {
	for _, tc := range []struct {
		name string
		cut  func(d *Driver, l *link)
		most time.Duration // until all is lifted
		hear string
	}{
		{"rig killed", func(d *Driver, l *link) { d.wire.Close() }, time.Millisecond,
			"connection to the agent is lost"},
		{"cable pulled", func(d *Driver, l *link) { l.dead.Store(true) }, patience + keepAlive, "nothing was heard"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, 50, func(t *testing.T, w *world) {
				l := &link{}
				d := w.mustDial(l)
				w.do(d, w.rig.Now(), input.KeyDown{Key: "ShiftLeft"})
				w.do(d, w.rig.Now(), input.TouchDown{Finger: 0, X: 1, Y: 2}, input.TouchDown{Finger: 3, X: 4, Y: 5})
				cut := w.rig.Now()
				tc.cut(d, l)
				time.Sleep(2 * patience)
				up, at := w.hand.lifts()
				want := []input.Action{input.TouchUp{Finger: 0}, input.TouchUp{Finger: 3},
					input.KeyUp{Key: "ShiftLeft"}}
				if !slices.Equal(up, want) || at.Sub(cut) > tc.most {
					t.Errorf("lifted %v after %v", up, at.Sub(cut))
				}
				_, err := d.Do(w.ctx, w.rig.Now(), input.TouchMove{Finger: 0, X: 1, Y: 3})
				if !errors.Is(err, input.ErrGone) || !strings.Contains(err.Error(), tc.hear) {
					t.Errorf("the rig hears %v", err)
				}
				if err := d.Release(w.ctx); err != nil {
					t.Errorf("release of what was lifted: %v", err)
				}
				w.shut(d)

				back := w.mustDial(&link{})
				if told := strings.Join(back.lifted, ", "); told != "finger 0 up, finger 3 up, key up ShiftLeft" {
					t.Errorf("told of %s", told)
				}
				if note := back.Info().Note; !strings.Contains(note, "has lifted: finger 0 up") {
					t.Errorf("note: %s", note)
				}
				w.shut(back)
				again := w.mustDial(&link{})
				if told := again.lifted; len(told) > 0 {
					t.Errorf("told again of %v", told)
				}
				w.shut(again)
			})
		})
	}
}

// What waits for its time when the connection is lost is not done.
func TestConnectionLostBeforeItsTime(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		go func() {
			time.Sleep(30 * time.Millisecond)
			d.wire.Close()
		}()
		if _, err := d.Do(w.ctx, w.rig.Now().Add(45*time.Millisecond), input.KeyDown{Key: "a"}); !errors.Is(err,
			input.ErrGone) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Second)
		if n := w.hand.times(); n != 0 {
			t.Errorf("done %d times", n)
		}
		w.shut(d)
	})
}

// Something that takes longer than anybody's patience, as long texts do, keeps the connection.
func TestWhatTakesLong(t *testing.T) {
	inWorld(t, 300, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		w.hand.takes = fixed(10 * patience)
		if sent := w.do(d, w.rig.Now(), input.Text{Text: "long"}); sent.Width() < 20*patience ||
			sent.Width() > 20*patience+50*time.Millisecond {
			t.Errorf("told within %v", sent.Width())
		}
		w.hand.takes = fixed(0)
		if sent := w.do(d, w.rig.Now(), input.KeyDown{Key: "a"}); sent.Width() > time.Millisecond {
			t.Errorf("and then within %v", sent.Width())
		}
		w.shut(d)
	})
}

func TestAgentEnds(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		w.do(d, w.rig.Now(), input.ButtonDown{Button: input.Left})
		w.end()
		synctest.Wait()
		time.Sleep(time.Second)
		if up, _ := w.hand.lifts(); len(up) != 1 {
			t.Errorf("lifted %v", up)
		}
		if _, err := d.Do(w.ctx, 0, input.ButtonUp{Button: input.Left}); !errors.Is(err, input.ErrGone) {
			t.Errorf("%v", err)
		}
		w.shut(d)
	})
}

func TestCancel(t *testing.T) {
	// before the call, before it is sent, while the agent waits
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 970 * time.Millisecond} {
		inWorld(t, 50, func(t *testing.T, w *world) {
			d := w.mustDial(&link{})
			ctx, cancel := context.WithCancel(w.ctx)
			time.AfterFunc(after, cancel)
			began := w.rig.Now()
			_, err := d.Do(ctx, began.Add(time.Second), input.KeyDown{Key: "a"})
			if !errors.Is(err, context.Canceled) || w.hand.times() != 0 ||
				w.rig.Now().Sub(began) > after+time.Millisecond {
				t.Errorf("after %v: %v, done %d times", w.rig.Now().Sub(began), err, w.hand.times())
			}
			w.do(d, w.rig.Now(), input.KeyDown{Key: "b"})
			w.shut(d)
		})
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	for _, tc := range []struct{ is, err error }{
		{input.ErrGone, fmt.Errorf("hid: %w: port is suspended", input.ErrGone)},
		{errors.ErrUnsupported, fmt.Errorf("no mouse: %w", errors.ErrUnsupported)},
		{os.ErrClosed, os.ErrClosed},
		{input.ErrGone, errors.Join(context.Canceled, input.ErrGone)},
		{nil, errors.New("the host has not asked\x1b[2J")},
	} {
		inWorld(t, 0, func(t *testing.T, w *world) {
			d := w.mustDial(&link{})
			w.hand.fail = tc.err
			_, err := d.Do(w.ctx, 0, input.KeyDown{Key: "a"})
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q", err)
			}
			if tc.is == nil && (errors.Is(err, input.ErrGone) || errors.Is(err, errors.ErrUnsupported)) {
				t.Errorf("%v became something else", err)
			}
			w.hand.mu.Lock()
			w.hand.fail = nil
			w.hand.mu.Unlock()
			w.do(d, w.rig.Now(), input.KeyDown{Key: "a"}) // the connection is as good as before
			w.shut(d)
			if _, err := d.Do(w.ctx, 0, input.KeyDown{Key: "a"}); !errors.Is(err, os.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}
