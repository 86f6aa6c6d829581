package bus

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroup: a closed group has waited for all functions, and begins no other.
func TestGroup(t *testing.T) {
	var g group
	ended, begun := false, false
	g.begin(func() { ended = true })
	g.close()
	g.begin(func() { begun = true })
	g.running.Wait()
	if !ended || begun {
		t.Errorf("ended: %v, begun after the end: %v", ended, begun)
	}
}

// TestErrorsOnce: equal errors of several connections are logged once an hour.
//
// Fault: A removed rig of a fleet tries to connect for ever
func TestErrorsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := &eventLog{log: slog.New(slog.NewTextHandler(&out, nil))}
		refuse := func(connection int, key string) {
			l.Errorf("127.0.0.1:%d - wid:%d - authentication error - %s", 1000+connection, connection, key)
		}
		for i := range 100 {
			refuse(i, "UA")
		}
		refuse(100, "UB")
		time.Sleep(errorsEvery)
		refuse(101, "UA")
		if n := strings.Count(out.String(), "authentication error"); n != 3 {
			t.Errorf("%d lines:\n%s", n, out.String())
		}
	})
	r := &rigLink{why: away(errors.New("nats: Authorization Violation"))}
	if d := r.delay(10); d < removedDelay/2 {
		t.Errorf("a removed rig tries again after %v", d)
	}
	r.why = ErrAway
	if d := r.delay(10); d > time.Minute {
		t.Errorf("a rig of an absent hub tries again after %v", d)
	}
}
