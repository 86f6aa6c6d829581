package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// The rig names its version as the websocket's subprotocol. The agent sends a greeting, and then
// replies to requests.
const (
	version     = 2
	subprotocol = "eideticker-input.2"
)

// keepAlive is the interval of messages from each side. patience is the maximum silence.
const (
	keepAlive = 500 * time.Millisecond
	patience  = wire.Patience
)

// greeting is the agent's first message. With an error it is the last one too.
type greeting struct {
	Version int        `json:"version"`
	Error   failure    `json:"error,omitzero"`
	Info    input.Info `json:"info"`
	Lifted  []string   `json:"lifted,omitempty"` // when the controller before was lost
}

// The operations of requests. Each but cancel and bye is replied to. There is one do or release at
// a time, and clocks besides. The reply to an operation that the agent does not have is an error
// that wraps [errors.ErrUnsupported].
const (
	opClock   = "clock"
	opDo      = "do"
	opRelease = "release"
	opCancel  = "cancel" // of the request with this number
	opBye     = "bye"
)

type request struct {
	ID      uint64        `json:"id"`
	Op      string        `json:"op"`
	At      timeline.Time `json:"at_ns,omitempty"` // on the agent's clock
	Actions []action      `json:"actions,omitempty"`
}

// reply has times of the agent's clock only.
type reply struct {
	ID       uint64        `json:"id"`
	Received timeline.Time `json:"received_ns"`
	Sent     timeline.Time `json:"sent_ns"`
	Earliest timeline.Time `json:"earliest_ns,omitempty"` // of the executed actions
	Latest   timeline.Time `json:"latest_ns,omitempty"`
	Error    failure       `json:"error,omitzero"`
}

// maxTime bounds the times of either clock, so that differences of two are times too.
const maxTime = timeline.Time(1) << 61

// check reports times that no honest agent has.
func (r reply) check() error {
	for _, t := range []timeline.Time{r.Received, r.Sent, r.Earliest, r.Latest} {
		if t < -maxTime || t > maxTime {
			return fmt.Errorf("time %d is none", t)
		}
	}
	if r.Received > r.Sent {
		return errors.New("it was answered before it was asked")
	}
	return nil
}

// failure is an error on its way. Kind is "" where there is none.
type failure struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

// errBusy says that an agent has a controller already.
var errBusy error = busyError{}

type busyError struct{}

func (busyError) Error() string { return "another controller uses the agent" }

const maxFailure = 1000 // runes of an error's text

// meaning is an error that keeps its meaning on the way.
type meaning struct {
	kind string
	is   error
}

// meanings are in the order in which they count where an error has several.
func meanings() []meaning {
	return []meaning{
		{"gone", input.ErrGone}, {"unsupported", errors.ErrUnsupported}, {"closed", os.ErrClosed},
		{"canceled", context.Canceled},
		{"late", context.DeadlineExceeded}, {"busy", errBusy}, {"token", wire.ErrToken},
	}
}

const otherFailure = "other"

func failureOf(err error) failure {
	if err == nil {
		return failure{}
	}
	f := failure{otherFailure, fmt.Sprintf("%.*s", maxFailure, err.Error())}
	if i := slices.IndexFunc(meanings(), func(m meaning) bool { return errors.Is(err, m.is) }); i >= 0 {
		f.Kind = meanings()[i].kind
	}
	return f
}

// err returns the error that a failure was made of, as far as it matters.
func (f failure) err() error {
	if f.Kind == "" {
		return nil
	}
	e := &agentError{text: clean(f.Text, maxFailure)}
	if i := slices.IndexFunc(meanings(), func(m meaning) bool { return m.kind == f.Kind }); i >= 0 {
		e.is = meanings()[i].is
	}
	return e
}

// clean returns the printable part of an agent's text.
func clean(s string, most int) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, fmt.Sprintf("%.*s", most, s))
}

// agentError is an error that an agent has told.
type agentError struct {
	text string
	is   error // or nil
}

func (e *agentError) Error() string { return "agent: " + e.text }
func (e *agentError) Unwrap() error { return e.is }
