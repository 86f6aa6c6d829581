package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// transferTime bounds the transfer of one file.
const transferTime = 10 * time.Minute

// transfer sends files to a hub, by tickets.
type transfer struct {
	hub  string
	http *http.Client
}

// newTransfer returns the transfer to the hub with the fingerprint of fleet.json.
func newTransfer(f Fleet) (*transfer, error) {
	u, err := url.Parse(f.Hub)
	if err != nil || u.Host == "" || u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("connect to hub %.200q: the address must begin with https", f.Hub)
	}
	return &transfer{"https://" + u.Host, PinnedClient(f.Fingerprint)}, nil
}

// PinnedClient returns a client that trusts one certificate, by its fingerprint.
func PinnedClient(print string) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: requestTime}).DialContext,
			TLSHandshakeTimeout: requestTime, ResponseHeaderTimeout: transferTime, MaxIdleConns: 4,
			TLSClientConfig: bus.Pinned(print),
		},
	}
}

func (t *transfer) close() { t.http.CloseIdleConnections() }

var ticketForm = pattern.New(`^[A-Za-z0-9_-]{1,128}$`)

// post sends content to a ticket. bytes is -1 if its length is unknown.
func (t *transfer) post(ctx context.Context, ticket string, header http.Header, body io.Reader, bytes int64) error {
	if !ticketForm.MatchString(ticket) {
		return fmt.Errorf("send to hub: ticket %.80q is invalid", ticket)
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.hub+"/fleet/v1/ticket/"+ticket, body)
	if err != nil {
		return err
	}
	r.ContentLength = bytes
	for name, values := range header {
		r.Header[name] = values
	}
	res, err := t.http.Do(r)
	if err != nil {
		return fmt.Errorf("send to hub: %w", err)
	}
	defer res.Body.Close() // was only read
	if res.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // a part says enough
		return fmt.Errorf("send to hub: it answers %d: %s", res.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}

// sendLight sends the light folders that the hub wants, while no device measures. It reports if one
// was sent.
func (a *Agent) sendLight(ctx context.Context, to *transfer, tickets []wire.Ticket) (sent bool) {
	rest := false
	for _, ticket := range tickets {
		a.mu.Lock()
		t := a.state.find(ticket.Attempt)
		known := t != nil && t.Ended != nil && t.Ended.Light != nil
		a.mu.Unlock()
		if !known {
			continue
		}
		if rest = measures(a.o.Devices()); rest {
			break
		}
		if err := a.sendOne(ctx, to, ticket); err != nil {
			a.o.Log.Warn("a light folder was not sent", "attempt", ticket.Attempt, "error", err)
			continue
		}
		a.o.Point("sent")
		sent = true
	}
	a.mu.Lock()
	owes := a.owes()
	a.mu.Unlock()
	a.rest(rest || owes && measures(a.o.Devices()))
	a.hold()
	return sent
}

// rest has sets wait that can, while results wait.
func (a *Agent) rest(is bool) {
	a.mu.Lock()
	a.rests = is
	a.mu.Unlock()
	a.o.Rest(is)
}

// hold notes since when a light folder or a build waits.
func (a *Agent) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	waits := a.owes()
	for _, e := range a.state.ended() {
		waits = waits || e.Light != nil
	}
	switch {
	case !waits:
		a.held = time.Time{}
	case a.held.IsZero():
		a.held = a.o.Now()
	}
}

func (a *Agent) sendOne(ctx context.Context, to *transfer, ticket wire.Ticket) error {
	f, err := os.Open(a.lightFile(ticket.Attempt))
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return to.post(ctx, ticket.ID, http.Header{"Content-Type": {"application/zip"}}, f, st.Size())
}

// Bounds of the relay.
const (
	relayWait  = 10 * time.Second // below the time of a request
	relayAgain = 5 * time.Second
	relays     = 4 // files at once
)

// relay answers tickets of files until ctx ends.
func (a *Agent) relay(ctx context.Context, bus Bus, to *transfer) {
	places := make(chan struct{}, relays)
	for ctx.Err() == nil {
		tickets, err := a.nextTickets(ctx, bus)
		if err != nil { // the poll reports it
			select {
			case <-time.After(relayAgain):
			case <-ctx.Done():
			}
			continue
		}
		for _, t := range tickets {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				continue
			}
			go func() {
				defer func() { <-places }()
				if err := a.answer(ctx, to, t); err != nil && ctx.Err() == nil {
					a.o.Log.Warn("a file was not relayed", "path", t.Path, "error", err)
				}
			}()
		}
	}
	for range relays { // joins the transfers
		places <- struct{}{}
	}
}

func (a *Agent) nextTickets(ctx context.Context, bus Bus) ([]wire.Ticket, error) {
	raw, err := json.Marshal(wire.Relay{WaitNS: int64(relayWait)})
	if err == nil {
		raw, err = a.request(ctx, bus, "relay", raw)
	}
	var got wire.Relayed
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	return got.Tickets, err
}

// answer carries out the GET request of a ticket on the rig's own interface and sends the answer.
func (a *Agent) answer(ctx context.Context, to *transfer, t wire.Ticket) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	w := newPiped(cancel)
	r, err := relayRequest(ctx, t)
	switch {
	case err != nil:
		go w.fail(http.StatusBadRequest, err.Error())
	case !strings.HasPrefix(r.URL.Path, previewPath) && measures(a.o.Devices()):
		go w.fail(http.StatusServiceUnavailable, errQuiet.Error())
	default:
		go w.serve(a.o.Files, r)
	}
	defer w.body.Close() // the handler stops writing
	select {
	case <-w.began:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	header := http.Header{wire.StatusHeader: {strconv.Itoa(w.status)}}
	for _, name := range []string{"Content-Type", "Content-Range", "ETag", "Accept-Ranges"} {
		if v := w.head.Get(name); v != "" {
			header[http.CanonicalHeaderKey(name)] = []string{v}
		}
	}
	bytes := int64(-1)
	if n, err := strconv.ParseInt(w.head.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		bytes = n
	}
	return to.post(ctx, t.ID, header, w.body, bytes)
}

// Paths of the rig's interface that a hub may ask for.
const (
	runsPath    = "/api/v1/runs/"
	previewPath = "/preview/"
)

// relayRequest makes the request of a ticket.
func relayRequest(ctx context.Context, t wire.Ticket) (*http.Request, error) {
	u, err := url.ParseRequestURI(t.Path)
	if err != nil || u.IsAbs() || u.Host != "" || len(t.Path) > 1000 || len(t.Range) > 200 || strings.Contains(u.Path,
		"..") ||
		!slices.ContainsFunc([]string{runsPath, previewPath, wire.BuildPath},
			func(begin string) bool { return strings.HasPrefix(u.Path, begin) }) {
		return nil, fmt.Errorf("path %.80q is not one of a run, a build or a preview", t.Path)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.RemoteAddr = "127.0.0.1:0" // the rig itself asks
	if t.Range != "" {
		r.Header.Set("Range", t.Range)
	}
	return r, nil
}

// piped is an answer that is read while it is written.
type piped struct {
	sent   http.Header
	status int
	head   http.Header
	began  chan struct{} // closed when status and header are complete
	body   *io.PipeReader
	to     *io.PipeWriter
	stop   func()
}

func newPiped(stop func()) *piped {
	p := &piped{sent: http.Header{}, began: make(chan struct{}), stop: stop}
	p.body, p.to = io.Pipe()
	return p
}

// Header implements http.ResponseWriter.
func (p *piped) Header() http.Header { return p.sent }

// WriteHeader implements http.ResponseWriter.
func (p *piped) WriteHeader(status int) {
	if p.status == 0 && status >= 200 {
		p.status, p.head = status, p.sent.Clone()
		close(p.began)
	}
}

// Write implements http.ResponseWriter.
func (p *piped) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.to.Write(b)
}

// serve runs a handler to its end. One that aborts makes the transfer fail.
func (p *piped) serve(h http.Handler, r *http.Request) {
	var end error
	defer func() {
		if recover() != nil {
			end = errors.New("the file was not read whole")
			if p.status == 0 {
				p.stop()
			}
		}
		p.WriteHeader(http.StatusOK)
		_ = p.to.CloseWithError(end) // never fails
	}()
	h.ServeHTTP(p, r)
}

func (p *piped) fail(status int, text string) {
	p.sent.Set("Content-Type", "text/plain; charset=utf-8")
	p.WriteHeader(status)
	_, _ = p.to.Write([]byte(text)) // the hub has gone
	_ = p.to.Close()                // never fails
}
