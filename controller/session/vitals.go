package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/inspect"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/har"
)

// vitals reports if the page's claims are read.
func (r *run) vitals() bool { return r.Test.Vitals && !r.inspect }

// ErrUntrustedVitals is the error of an untrusted test with vitals.
var ErrUntrustedVitals = fmt.Errorf("vitals need developer tools, which an untrusted test must not reach: %w",
	errors.ErrUnsupported)

// checkVitals checks if the claims of a test's page can be read on a device.
func checkVitals(t *suite.Test, d device.Description, browser string) error {
	launches := len(t.Steps) > 0
	if launches {
		_, launches = t.Steps[0].Action.(suite.Launch)
	}
	switch {
	case !t.Vitals:
		return nil
	case launches:
		return fmt.Errorf("test %s: vitals cannot be read if the test starts the browser", t.Name)
	case d.Source != device.Virtual:
		return fmt.Errorf("device %s: vitals need a browser on a virtual display of this machine: %w", d.Name,
			errors.ErrUnsupported)
	case t.Network.Given() && browser == "firefox":
		return fmt.Errorf("test %s: firefox on a test network has no vitals; use chromium: %w", t.Name,
			errors.ErrUnsupported)
	}
	return nil
}

// observeTimeout limits the steps of the side channel before and after a run.
const observeTimeout = 30 * time.Second

// observe has the browser collect the claims of each page, and goes to the first.
func (s *localStage) observe(ctx context.Context, address string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, fmt.Errorf("timeout after %v", observeTimeout))
	defer cancel()
	if s.page != nil {
		s.side = s.page.driver
	} else if s.side, err = inspect.Open(ctx, s.browser); err != nil {
		return fmt.Errorf("observe the page: %w", err)
	}
	if s.wanted.Profile != nil {
		s.wanted.Profile.Inspected(ctx, inspect.Tools(s.side))
	}
	if err := s.side.Preload(ctx, vitals.Script); err != nil {
		return fmt.Errorf("observe the page: %w", err)
	}
	_, err = s.side.Navigate(ctx, address)
	return err
}

func (s *localStage) observed() inspect.Page { return s.side }

// pageClaims are the claims of a page, read after its red.
type pageClaims struct {
	page   *vitals.Page
	origin timeline.Interval // time 0 of its clock
	err    error             // why there are none
}

// clockReadings is how often the page's clock is read. The reading with the shortest way counts.
const clockReadings = 20

// readClaims reads the page's claims and its clock. A page that does not answer fails no run.
func (r *run) readClaims(ctx context.Context, s Stage) *pageClaims {
	ctx, cancel := context.WithTimeoutCause(ctx, observeTimeout, fmt.Errorf("no answer within %v", observeTimeout))
	defer cancel()
	stage, ok := s.(interface{ observed() inspect.Page })
	if !ok || stage.observed() == nil {
		return &pageClaims{err: errors.ErrUnsupported}
	}
	c := readPage(ctx, stage.observed(), timeline.Monotonic())
	if c.err != nil {
		r.note("the page's claims could not be read: %v", c.err)
	}
	return c
}

func readPage(ctx context.Context, side inspect.Page, clock timeline.Clock) *pageClaims {
	c := &pageClaims{}
	text, err := side.Evaluate(ctx, vitals.Answer)
	if err == nil {
		c.page, err = vitals.Read(text)
	}
	for i := 0; i < clockReadings && err == nil; i++ {
		var at timeline.Interval
		if at, err = originOf(ctx, side, clock); err == nil && (i == 0 || at.Width() < c.origin.Width()) {
			c.origin = at
		}
	}
	c.err = err
	return c
}

// clockCoarse is by how much browsers round the page's clock. Firefox rounds up or down.
const clockCoarse = time.Millisecond

// maxPageAge limits the time on a page's clock.
const maxPageAge = 24 * time.Hour

// originOf returns the time of the page's navigation. It reads the page's clock, which counts from
// there, between two readings of this machine's.
func originOf(ctx context.Context, side inspect.Page, clock timeline.Clock) (at timeline.Interval, err error) {
	at.Earliest = clock.Now()
	text, err := side.Evaluate(ctx, vitals.Clock)
	at.Latest = clock.Now()
	if err != nil {
		return at, err
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ms >= 0 && ms < float64(maxPageAge.Milliseconds())) {
		return at, fmt.Errorf("the page's clock has the time %.40q", text)
	}
	since := time.Duration(ms * 1e6)
	return timeline.Interval{Earliest: at.Earliest.Add(-since - clockCoarse),
		Latest: at.Latest.Add(-since + clockCoarse)}, nil
}

// compare returns the claims in results, the largest paint beside its pixels.
func (c *pageClaims) compare(found *runfolder.Found, file *recording.Reader, t *take) *vitals.Claims {
	if c.err != nil {
		return vitals.None(c.err.Error())
	}
	var requests []vitals.Request
	if t.traffic != nil && !t.traffic.hidden {
		requests = requestsOf(t.traffic.fall)
	}
	claims := c.page.Claims(requests)
	last := -1
	for _, w := range found.Results.Windows {
		last = max(last, w.End)
	}
	if last < 0 {
		claims.Unseen("no window was measured")
		return claims
	}
	claims.See(c.page, vitals.Screen{Recording: file, Area: t.Area, Last: last, Origin: c.origin})
	return claims
}

// requestsOf returns the requests of a waterfall. It is not nil.
func requestsOf(fall *har.Waterfall) []vitals.Request {
	all := []vitals.Request{}
	for i := range fall.Requests {
		r := &fall.Requests[i]
		one := vitals.Request{Type: vitals.TypeOf(r.Served.ResponseHeader.Get("Content-Type")),
			Bytes: max(r.WireBytes, r.Served.ResponseBytes)}
		if u, err := url.Parse(r.Served.URL); err == nil {
			one.Domain = cut(nameOf(u), 253)
		}
		all = append(all, one)
	}
	return all
}
