package session

import (
	"errors"
	"fmt"
	"sync"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

const (
	// maxChangesNoted is how often a run says that its line was changed.
	maxChangesNoted = 4
	// MaxRemoteChanges is how often the line of one run is changed from outside at most: each time
	// is an event in its recording.
	MaxRemoteChanges = 1000
)

// changing is the line of a run at work as far as it is changed: by steps of the test, and from
// outside.
type changing struct {
	set     func(link.Conditions) error // nil: the run has no line
	mu      sync.Mutex                  // of one change, and of the conditions that it begins with
	changes int
}

// changeLine changes the line of a run at work as a step asks, and says what it is then; nil, where
// the run has none.
func (s *session) changeLink() func(suite.Link) (string, error) {
	if s.set == nil {
		return nil
	}
	return func(l suite.Link) (string, error) {
		now, err := s.change(l, "the test")
		return now.Text, err
	}
}

// LinkChange is what a line was changed to.
type LinkChange struct {
	Conditions link.Conditions
	Text       string            // of them, in few words
	At         timeline.Interval // between which the change lies
}

// ParseLink reads what a line is to be, and refuses what no line can be.
func ParseLink(t suite.LinkText, known suite.Known) (suite.Link, error) {
	l, err := suite.ParseLink(t, known)
	if err == nil {
		_, err = testnet.Changed(link.Conditions{}, l)
	}
	return l, err
}

// change changes the line, and notes who did it. One that cannot be had leaves the line as it was.
func (s *session) change(l suite.Link, who string) (now LinkChange, err error) {
	s.changing.mu.Lock()
	defer s.changing.mu.Unlock()
	if now.Conditions, err = testnet.Changed(s.line, l); err != nil {
		return LinkChange{}, err
	}
	now.At.Earliest = timeline.Monotonic().Now()
	if err := s.set(now.Conditions); err != nil {
		return LinkChange{}, fmt.Errorf("change the network: %w", errors.Join(err, s.set(s.line)))
	}
	now.At.Latest = timeline.Monotonic().Now()
	s.line = now.Conditions
	now.Text = conditionsText(s.line)
	if l.Profile != "" {
		now.Text = l.Profile + ": " + now.Text
	}
	s.log.Info("the network is another now", "conditions", now.Text, "by", who)
	switch s.changes++; {
	case s.changes < maxChangesNoted:
		s.note("%s changed the network: %s", who, now.Text)
	case s.changes == maxChangesNoted:
		s.note("the network was changed more often; the recording's events have all")
	}
	return now, nil
}

// conditionsText is what a line is like, in few words.
func conditionsText(c link.Conditions) string {
	n := Network{}
	n.RTT.Asked, n.Down.Asked, n.Up.Asked, n.Loss.Asked = c.RTT(), c.Down.Rate, c.Up.Rate, (c.Down.Loss+c.Up.Loss)/2
	return n.String()
}

// Remote changes from outside what the runs of a set are on, while they are at work. The zero value
// is ready, for one set. It may be used from any goroutine.
type Remote struct {
	mu  sync.Mutex // of a change as a whole: a run that ends waits for it
	run *attended  // nil: none that has a line is at work
}

// attended is a run at work that is changed from outside.
type attended struct {
	session *session
	emit    func(timeline.Event)
	changes int
}

// Errors of a Remote.
var (
	ErrNoRun          = errors.New("no running job has a network that can be changed")
	ErrTooManyChanges = fmt.Errorf("the network of the run was changed %d times, which is the limit",
		MaxRemoteChanges)
)

// ChangeLink changes the line of the run at work, for a client of some name, as a step of the test
// would. Where none is that has one, the error is ErrNoRun.
func (r *Remote) ChangeLink(l suite.Link, client string) (LinkChange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.run == nil:
		return LinkChange{}, ErrNoRun
	case r.run.changes == MaxRemoteChanges:
		return LinkChange{}, ErrTooManyChanges
	}
	now, err := r.run.session.change(l, "client "+client)
	if err != nil {
		return LinkChange{}, err
	}
	r.run.changes++
	r.run.emit(controller.LinkEvent(now.At, now.Text, client))
	return now, nil
}

// attend lets the run be changed from outside, if it has a line, until leave is called: then no
// change is at work any more, and none begins.
func (s *session) attend(emit func(timeline.Event)) (leave func()) {
	if s.Remote == nil || s.set == nil {
		return func() {}
	}
	turn := func(to *attended) {
		s.Remote.mu.Lock()
		defer s.Remote.mu.Unlock()
		s.Remote.run = to
	}
	turn(&attended{session: s, emit: emit})
	return func() { turn(nil) }
}
