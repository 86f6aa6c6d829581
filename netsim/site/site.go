package site

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/eideticker/eideticker/capture/timeline"
)

// maxPlaylist is how many pages a run may play: a page's number has 8 bits in the strip.
const maxPlaylist = 255

// Options are what a run of test pages needs; the zero value plays every page once, without a
// strip.
type Options struct {
	Playlist []string        // names of pages, in order; nil for all
	Strip    json.RawMessage // geometry and code of the strip (strip.Spec), or nil for none
	Clock    timeline.Clock  // the rig's; nil for timeline.Monotonic
	Nonce    string          // letters and digits that name this run; "" for random ones
	// MarkCode makes each page draw copy 0 of the strip on its green and red (see the package
	// documentation). So a marker of another run is not mistaken for this one's. It needs Strip.
	MarkCode bool
	// Arrive makes the first page begin at once, without a green of its own. The browser comes from
	// a green page, and the time until the page appears is measured. It cannot be used with a page
	// that must know its window's size first.
	Arrive bool
	// InputEnds states that InputEnded will be called. Until then, pages wait for input.
	InputEnds bool
}

// Site is the test pages of one run, as an http.Handler.
type Site struct {
	clock    timeline.Clock
	nonce    string
	strip    json.RawMessage
	mark     *mark // nil: markers carry no code
	arrive   bool
	playlist []Page
	files    map[string]file // by path
	started  timeline.Time
	reports  chan Report // holds the whole playlist: a report never waits for whoever reads them
	failures chan error  // of pages that say they cannot play
	// ended is closed at the end of the input; nil: nobody calls InputEnded
	ended    chan struct{}
	endInput func() // closes ended once

	mu      sync.Mutex
	next    int             // entry whose report is due
	asked   []timeline.Time // when each entry's page was first asked for; 0 before
	closed  bool
	payload json.RawMessage // of pages that send messages; nil: nobody reads them
}

// New returns the site of a run.
func New(o Options) (*Site, error) {
	s := &Site{clock: o.Clock, nonce: o.Nonce, strip: o.Strip, arrive: o.Arrive, files: files()}
	if o.InputEnds {
		s.ended = make(chan struct{})
		s.endInput = sync.OnceFunc(func() { close(s.ended) })
	}
	if s.clock == nil {
		s.clock = timeline.Monotonic()
	}
	if s.nonce == "" {
		s.nonce = rand.Text()
	}
	if err := checkNonce(s.nonce); err != nil {
		return nil, err
	}
	if s.strip != nil {
		var object map[string]any
		if err := json.Unmarshal(s.strip, &object); err != nil {
			return nil, fmt.Errorf("code strip's geometry is not a JSON object: %w", err)
		}
	}
	if o.MarkCode {
		if s.strip == nil {
			return nil, errors.New("markers cannot carry a code without the code strip's geometry")
		}
		s.mark = &mark{}
		s.mark.ID, s.mark.Clock = MarkCode(s.nonce)
	}
	names := o.Playlist
	if names == nil {
		for _, p := range Pages() {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 || len(names) > maxPlaylist {
		return nil, fmt.Errorf("playlist has %d pages, want 1 to %d", len(names), maxPlaylist)
	}
	for _, name := range names {
		p, err := Find(name)
		if err != nil {
			return nil, err
		}
		p.Strip = s.strip != nil
		s.playlist = append(s.playlist, p)
	}
	s.reports = make(chan Report, len(s.playlist))
	s.failures = make(chan error, 1)
	s.asked = make([]timeline.Time, len(s.playlist))
	s.started = s.clock.Now()
	return s, nil
}

func checkNonce(nonce string) error {
	if len(nonce) > 64 {
		return fmt.Errorf("nonce of %d letters, limit 64", len(nonce))
	}
	for _, c := range nonce {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return fmt.Errorf("nonce %q holds more than letters and digits", nonce)
		}
	}
	return nil
}

// Nonce returns the letters and digits that name this run.
func (s *Site) Nonce() string { return s.nonce }

// Playlist returns the manifests of the pages that will be played, in order.
func (s *Site) Playlist() []Page { return append([]Page(nil), s.playlist...) }

// Start returns the path and query of the playlist's first page.
func (s *Site) Start() string { return s.location(0) }

// location returns where an entry of the playlist is found, or "" behind its end.
func (s *Site) location(entry int) string {
	if entry >= len(s.playlist) {
		return ""
	}
	return fmt.Sprintf("%s?run=%s&entry=%d", s.playlist[entry].Path, s.nonce, entry)
}

// errPlayed is returned by Next after the last page's report.
var errPlayed = errors.New("every page of the playlist has reported")

// Next waits for the next page's report. Its error says which page was waited for, or is a
// *PageError.
func (s *Site) Next(ctx context.Context) (Report, error) {
	select {
	case err := <-s.failures:
		return Report{}, err
	case r, ok := <-s.reports:
		if !ok {
			return Report{}, errPlayed
		}
		return r, nil
	case <-ctx.Done():
		return Report{}, fmt.Errorf("%s: %w", s.waitingFor(), context.Cause(ctx))
	}
}

// PageError is what a page says that cannot play, say because the browser has no WebGL.
type PageError struct {
	Page, Reason string
}

func (e *PageError) Error() string {
	return fmt.Sprintf("test page %q cannot play: %s", e.Page, e.Reason)
}

// failed notes that the page of an entry cannot play. Only the first such message counts.
func (s *Site) failed(entry int, reason string) {
	select {
	case s.failures <- &PageError{s.playlist[entry].Name, reason}:
	default:
	}
}

func (s *Site) waitingFor() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.playlist) {
		return "wait for a test page's report"
	}
	p := s.playlist[s.next]
	if s.asked[s.next] == 0 {
		return fmt.Sprintf("wait for the browser to open test page %q", p.Name)
	}
	return fmt.Sprintf("wait for the report of test page %q, which the browser has opened", p.Name)
}

// accept takes the report of an entry, once and in order, and returns where the browser goes next.
func (s *Site) accept(r Report) (next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Entry < s.next:
		return s.location(r.Entry + 1), nil // told before; a browser may ask again
	case r.Entry > s.next:
		return "", fmt.Errorf("report of page %d of the playlist, but page %d is due", r.Entry+1, s.next+1)
	}
	r.Requested = s.asked[r.Entry]
	s.reports <- r
	s.next++
	if s.next == len(s.playlist) && !s.closed {
		s.closed = true
		close(s.reports)
	}
	return s.location(s.next), nil
}

// opened notes when a page of the playlist was first asked for.
func (s *Site) opened(entry int) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[entry] == 0 {
		s.asked[entry] = now
	}
}

// SetPayload sets form and sizes of the block in which pages draw messages (payload.Spec). Pages
// that were sent before have none.
func (s *Site) SetPayload(spec json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payload = spec
}

// Asked reports whether the browser has asked for a page of the playlist yet.
func (s *Site) Asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.asked, func(at timeline.Time) bool { return at != 0 })
}

var _ http.Handler = (*Site)(nil)
