package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// onLink is a link without a network, with the changes that it received.
type onLink struct {
	*runLink
	remote *Remote

	mu     sync.Mutex
	was    []link.Conditions
	refuse error
	events []timeline.Event
}

func newOnLink() *onLink {
	cable, _ := link.ProfileNamed("cable")
	o := &onLink{remote: &Remote{}}
	o.runLink = &runLink{journal: newJournal(io.Discard, untold{}), now: cable.Conditions}
	o.set = func(c link.Conditions) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.was = append(o.was, c)
		return o.refuse
	}
	return o
}

func (o *onLink) emit(e timeline.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

// TestRemoteLink: a Remote changes the link during the run, with an event and a note. Before and
// after the run it does not.
func TestRemoteLink(t *testing.T) {
	o := newOnLink()
	slow := suite.Link{Profile: "3g"}
	if _, err := o.remote.ChangeLink(slow, "ci"); !errors.Is(err, ErrNoRun) {
		t.Errorf("before the run: %v", err)
	}
	leave := o.remote.attach(o.runLink, o.emit)
	before := timeline.Monotonic().Now()
	now, err := o.remote.ChangeLink(slow, "ci")
	after := timeline.Monotonic().Now()
	if err != nil || now.Text != "3g: 1600kbit down, 768kbit up, RTT 300ms" ||
		now.Conditions.RTT() != 300*time.Millisecond || o.now.Down.Rate != 1600*link.Kbit {
		t.Errorf("%+v, %v", now, err)
	}
	if now.At.Earliest < before || now.At.Latest > after || now.At.Earliest > now.At.Latest {
		t.Errorf("changed in %v, which is not in %d to %d", now.At, before, after)
	}
	lossy := suite.Percent(1)
	step, err := o.change(suite.Link{Loss: &lossy}, "the test")
	if err != nil || step.Text != "1600kbit down, 768kbit up, RTT 300ms, 1 % lost" {
		t.Errorf("a step after it: %q, %v", step.Text, err)
	}
	if now, err = o.remote.ChangeLink(suite.Link{RTT: 50 * time.Millisecond}, "ci"); err != nil ||
		now.Text != "1600kbit down, 768kbit up, RTT 50ms, 1 % lost" {
		t.Errorf("after the step: %+v, %v", now, err)
	}
	leave()
	if _, err := o.remote.ChangeLink(slow, "ci"); !errors.Is(err, ErrNoRun) || len(o.was) != 3 {
		t.Errorf("after the run: %v, and the line was changed %d times", err, len(o.was))
	}
	if len(o.events) != 2 {
		t.Fatalf("%+v", o.events)
	}
	for i, want := range []string{`{"conditions":"3g: 1600kbit down, 768kbit up, RTT 300ms","by":"ci"}`,
		`{"conditions":"1600kbit down, 768kbit up, RTT 50ms, 1 % lost","by":"ci"}`} {
		e := o.events[i]
		if e.Source != controller.EventSource || e.Kind != controller.LinkChanged || string(e.Data) != want ||
			e.Validate() != nil {
			t.Errorf("event %+v, want %s", e, want)
		}
	}
	if e := o.events[0]; e.At < before || e.At > after {
		t.Errorf("the event is at %d, which is not in %d to %d", e.At, before, after)
	}
	want := []string{"client ci changed the network: 3g: ", "the test changed the network: 1600kbit",
		"client ci changed the network: 1600kbit"}
	if len(o.journal.noted()) != len(want) {
		t.Fatalf("notes %q", o.journal.noted())
	}
	for i, n := range o.journal.noted() {
		if !strings.HasPrefix(n, want[i]) {
			t.Errorf("note %q, want %q", n, want[i])
		}
	}
}

// TestLinkRefused: a change that cannot be had leaves the line as it was, and no event; one that is
// not a line is not tried.
func TestLinkRefused(t *testing.T) {
	o := newOnLink()
	defer o.remote.attach(o.runLink, o.emit)()
	if _, err := o.remote.ChangeLink(suite.Link{Profile: "cabel"}, "ci"); err == nil || len(o.was) != 0 {
		t.Errorf("a network that there is none of: %v, tried %d times", err, len(o.was))
	}
	o.refuse = errors.New("it rains")
	if _, err := o.remote.ChangeLink(suite.Link{Profile: "3g"}, "ci"); err == nil ||
		!strings.Contains(err.Error(), "it rains") {
		t.Errorf("a line that cannot be had: %v", err)
	}
	cable, _ := link.ProfileNamed("cable")
	if len(o.was) != 2 || o.was[1].RTT() != cable.Conditions.RTT() || o.now.RTT() != cable.Conditions.RTT() {
		t.Errorf("the line was %+v and is %+v", o.was, o.now)
	}
	if len(o.events)+len(o.journal.noted()) > 0 {
		t.Errorf("told of what was not: %+v, %q", o.events, o.journal.noted())
	}
}

// TestLinkWithoutNetwork: a run without a link, or without a Remote, cannot be changed.
func TestLinkWithoutNetwork(t *testing.T) {
	o := newOnLink()
	detach := o.remote.attach(nil, o.emit)
	if _, err := o.remote.ChangeLink(suite.Link{Profile: "3g"}, "ci"); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
	detach()
	(*Remote)(nil).attach(o.runLink, o.emit)()
}

// TestLinkTooOften: what somebody outside can put into a recording is bounded.
func TestLinkTooOften(t *testing.T) {
	o := newOnLink()
	defer o.remote.attach(o.runLink, o.emit)()
	var err error
	for i := range maxRemoteChanges + 1 {
		if _, err = o.remote.ChangeLink(suite.Link{RTT: time.Duration(i+1) * time.Millisecond}, "ci"); err != nil &&
			i < maxRemoteChanges {
			t.Fatalf("change %d: %v", i+1, err)
		}
	}
	if !errors.Is(err, ErrTooManyChanges) || len(o.events) != maxRemoteChanges {
		t.Errorf("%v, %d events", err, len(o.events))
	}
	if n := len(o.journal.noted()); n != maxChangesNoted || !strings.Contains(o.journal.noted()[n-1], "more often") {
		t.Errorf("notes %q", o.journal.noted())
	}
	if _, err := o.change(suite.Link{Profile: "3g"}, "the test"); err != nil {
		t.Errorf("a step of the test: %v", err)
	}
}

// TestLinkAtOnce: steps and several clients change the link at once. Each change begins with the
// result of the one before. After the run, no change is under way.
func TestLinkAtOnce(t *testing.T) {
	o := newOnLink()
	leave := o.remote.attach(o.runLink, o.emit)
	lossy := suite.Percent(3)
	var all sync.WaitGroup
	for i, l := range []suite.Link{{RTT: 40 * time.Millisecond}, {Down: 2_000_000}, {Up: 1_000_000}} {
		all.Go(func() {
			for range 50 {
				if _, err := o.remote.ChangeLink(l, fmt.Sprint(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		if _, err := o.change(suite.Link{Loss: &lossy}, "the test"); err != nil {
			t.Error(err)
		}
		o.journal.note("the page says: nothing")
	}
	all.Wait()
	if c := o.now; c.RTT() != 40*time.Millisecond || c.Down.Rate != 2*link.Mbit || c.Up.Rate != link.Mbit ||
		c.Down.Loss != 0.03 {
		t.Errorf("the line is %+v", c)
	}
	if len(o.was) != 200 || len(o.events) != 150 || len(o.journal.noted()) != maxChangesNoted+50 {
		t.Errorf("%d changes, %d events, %d notes", len(o.was), len(o.events), len(o.journal.noted()))
	}

	begun, free := make(chan struct{}), make(chan struct{})
	o.set = func(link.Conditions) error {
		close(begun)
		<-free
		return nil
	}
	changed := make(chan error, 1)
	go func() {
		_, err := o.remote.ChangeLink(suite.Link{Profile: "3g"}, "late")
		changed <- err
	}()
	<-begun
	over := make(chan int, 1)
	go func() {
		leave()
		over <- len(o.events) // nobody writes them any more
	}()
	close(free)
	if err := <-changed; err != nil {
		t.Error(err)
	}
	if n := <-over; n != 151 {
		t.Errorf("the run ended with %d events", n)
	}
	var by struct{ By string }
	if err := json.Unmarshal(o.events[150].Data, &by); err != nil || by.By != "late" {
		t.Errorf("%s, %v", o.events[150].Data, err)
	}
}
