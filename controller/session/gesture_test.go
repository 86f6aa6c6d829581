package session

import (
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestLongTexts: a page may leave all keys of a text unanswered within the limit of its test.
func TestLongTexts(t *testing.T) {
	for _, text := range []string{"a", strings.Repeat("ab", 50), strings.Repeat("x", 1000)} {
		g, err := Gestures{Text: text}.Test("http://127.0.0.1:1/")
		if err != nil {
			t.Fatal(err)
		}
		if need := longest(t, g.Steps); g.Timeout < need+time.Minute { // the page loads before
			t.Errorf("%d keys may take %v, and the limit is %v", len(text), need, g.Timeout)
		}
		if g.Timeout > suite.MaxDuration {
			t.Errorf("the limit is %v", g.Timeout)
		}
	}
}

// longest is the time of steps that see nothing but what they wait for.
func longest(t *testing.T, steps []suite.Step) (sum time.Duration) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Wait:
			sum += a.Timeout
			if a.Rest {
				sum += controller.BusyLimit
			}
		case suite.Ping:
			sum += time.Duration(a.Times) * (a.Every + a.Spread + a.Expect.Timeout)
		case suite.Mark, suite.Move:
		default:
			t.Fatalf("a step %T", a)
		}
	}
	return sum
}
