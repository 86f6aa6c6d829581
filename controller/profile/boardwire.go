package profile

import (
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/pattern"
)

// boardProtocol names the messages between a rig and the agent of a board. The agent sends a hello,
// and then one reply to each request, or several to opFetch.
const boardProtocol = "eideticker-profile.1"

// The operations of requests. Each but opBye has a reply. opFetch returns the next piece.
const (
	opClock   = "clock"
	opStart   = "start"
	opContent = "content"
	opStop    = "stop"
	opFetch   = "fetch"
	opBye     = "bye"
)

// Bounds of messages.
const (
	exchangeEvery = 2 * time.Second
	requestWithin = 30 * time.Second // until the rig counts as lost
	replyWithin   = 5 * time.Second
	workWithin    = 45 * time.Second // to start or end perf
	pieceWithin   = 2 * time.Minute  // perf script reads symbols first
	fetchWithin   = 10 * time.Minute
	pieceSize     = 512 << 10 // of text; packed, it may be a little longer
	maxProcesses  = 4096
	maxWarnings   = 20
	maxBoardText  = 1000 // bytes of an error
)

// boardHello is the agent's first message. With an error it is the last one too.
type boardHello struct {
	Error   string            `json:"error,omitempty"`
	System  string            `json:"system"`  // kernel and rights
	Engines map[string]string `json:"engines"` // why each cannot record; "": it can
}

type boardRequest struct {
	Op      string `json:"op"`
	Engine  string `json:"engine,omitempty"`
	Rate    int    `json:"rate,omitempty"`
	Limit   int64  `json:"limit,omitempty"`
	Of      string `json:"of,omitempty"`
	Content bool   `json:"content,omitempty"` // record between opContent with On and without
	On      bool   `json:"on,omitempty"`
}

// boardReply has times of the board's clock only.
type boardReply struct {
	Received timeline.Time `json:"received_ns"`
	Sent     timeline.Time `json:"sent_ns"`
	Error    string        `json:"error,omitempty"`
	Stopped  *boardStopped `json:"stopped,omitempty"`
	Data     []byte        `json:"data,omitempty"`
	// SHA256 is that of all data, with the last piece.
	SHA256 string `json:"sha256,omitempty"`
}

// boardStopped describes a recording.
type boardStopped struct {
	BeginNS   int64            `json:"begin_ns"`
	EndNS     int64            `json:"end_ns"`
	Rate      int              `json:"rate_hz"`
	Warnings  []string         `json:"warnings"`
	Processes map[int32]string `json:"processes"` // of the program, with the names that are known
}

// check rejects what no honest agent sends.
func (r *boardReply) check() error {
	const most = 1 << 60
	if r.Received < -most || r.Sent > most || r.Received > r.Sent || len(r.Data) > pieceSize+1024 {
		return errors.New("impossible times or data")
	}
	s := r.Stopped
	if s == nil {
		return nil
	}
	if s.BeginNS < -most || s.EndNS > most || s.BeginNS > s.EndNS || s.Rate < 1 || s.Rate > maxRate ||
		len(s.Processes) > maxProcesses || len(s.Warnings) > maxWarnings {
		return errors.New("the recording has impossible figures")
	}
	for i := range s.Warnings {
		s.Warnings[i] = activity.Clean(s.Warnings[i])
	}
	for pid := range s.Processes {
		if pid <= 1 {
			return fmt.Errorf("process %d is not one of a program", pid)
		}
		s.Processes[pid] = activity.Clean(s.Processes[pid])
	}
	return nil
}

var programName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// boardText is an error's text on its way.
func boardText(err error) string {
	text := err.Error()
	return text[:min(len(text), maxBoardText)]
}
