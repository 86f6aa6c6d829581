package session

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

const (
	maxChangesNoted = 4 // notes of a run about changes of its link
	// maxRemoteChanges limits the changes of a run by a Remote: each one is an event in the recording.
	maxRemoteChanges = 1000
)

// runLink is the link of a run. Steps of the test and a Remote change it.
type runLink struct {
	journal *journal
	set     func(link.Conditions) error
	mu      sync.Mutex // held for a whole change
	now     link.Conditions
	changes int
}

// rtt returns the present round-trip time; 0 without a link.
func (l *runLink) rtt() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.RTT()
}

// change changes the link and notes who did it. After an error the link is as before.
func (l *runLink) change(to suite.Link, who string) (c LinkChange, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Conditions, err = testnet.Changed(l.now, to); err != nil {
		return LinkChange{}, err
	}
	c.At.Earliest = timeline.Monotonic().Now()
	if err := l.set(c.Conditions); err != nil {
		return LinkChange{}, fmt.Errorf("change the network: %w", errors.Join(err, l.set(l.now)))
	}
	c.At.Latest = timeline.Monotonic().Now()
	l.now = c.Conditions
	c.Text = conditionsText(l.now)
	if to.Profile != "" {
		c.Text = to.Profile + ": " + c.Text
	}
	l.journal.log.Info("the network is another now", "conditions", c.Text, "by", who)
	switch l.changes++; {
	case l.changes < maxChangesNoted:
		l.journal.note("%s changed the network: %s", who, c.Text)
	case l.changes == maxChangesNoted:
		l.journal.note("the network was changed more often; the recording's events have all")
	}
	return c, nil
}

// LinkChange is the result of a change of a link.
type LinkChange struct {
	Conditions link.Conditions
	Text       string            // the conditions in few words
	At         timeline.Interval // contains the change
}

// ParseLink parses the conditions of a link. It rejects conditions that no link can have.
func ParseLink(t suite.LinkText, known suite.Known) (suite.Link, error) {
	l, err := suite.ParseLink(t, known)
	if err == nil {
		_, err = testnet.Changed(link.Conditions{}, l)
	}
	return l, err
}

// conditionsText returns conditions in few words.
func conditionsText(c link.Conditions) string {
	n := Network{}
	n.RTT.Asked, n.Down.Asked, n.Up.Asked, n.Loss.Asked = c.RTT(), c.Down.Rate, c.Up.Rate, (c.Down.Loss+c.Up.Loss)/2
	return n.String()
}

// Remote changes the link of the run that a set is making. The zero value is ready, for one set. It
// may be used from any goroutine.
type Remote struct {
	mu  sync.Mutex // held for a whole change: a run that ends waits for it
	run *attached  // nil: no run with a link
}

// attached is the run that a Remote changes.
type attached struct {
	link    *runLink
	emit    func(timeline.Event)
	changes int
}

// Errors of a Remote.
var (
	ErrNoRun          = errors.New("no running job has a network that can be changed")
	ErrTooManyChanges = fmt.Errorf("the network of the run was changed %d times, which is the limit", maxRemoteChanges)
)

// ChangeLink changes the link of the present run for a client, as a step of the test does. Without
// such a run the error is ErrNoRun.
func (r *Remote) ChangeLink(l suite.Link, client string) (LinkChange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.run == nil:
		return LinkChange{}, ErrNoRun
	case r.run.changes == maxRemoteChanges:
		return LinkChange{}, ErrTooManyChanges
	}
	c, err := r.run.link.change(l, "client "+client)
	if err != nil {
		return LinkChange{}, err
	}
	r.run.changes++
	r.run.emit(controller.LinkEvent(c.At, c.Text, client))
	return c, nil
}

// attach lets a Remote change a link until detach returns. A nil Remote and a nil link do nothing.
func (r *Remote) attach(l *runLink, emit func(timeline.Event)) (detach func()) {
	if r == nil || l == nil {
		return func() {}
	}
	turn := func(to *attached) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.run = to
	}
	turn(&attached{link: l, emit: emit})
	return func() { turn(nil) }
}
