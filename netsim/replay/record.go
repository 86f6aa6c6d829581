package replay

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// RecorderOptions are how a [Recorder] works.
type RecorderOptions struct {
	To       *Writer
	Limits   Limits
	Roots    *x509.CertPool // that sites' certificates lead to; nil: the machine's
	Insecure bool           // record sites with an untrusted certificate too, and mark them
	Memory   int64          // of bodies that are on their way at once; 0: 512 MiB
	// Dial is how sites are reached; nil: as the machine does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OnExchange is called for each exchange at its end. why is the reason why it was not kept, or
	// "". It may be called from several goroutines at once. May be nil.
	OnExchange func(e *Exchange, why string)
}

// Recorder passes requests on to their sites, and records the messages. The device does not wait
// for that: parts of a body are passed on at once.
type Recorder struct {
	options RecorderOptions
	sites   *upstream
	began   time.Time
	memory  atomic.Int64
	nextID  atomic.Int64
	stall   time.Duration
	ending  context.Context // ends with Close
	end     context.CancelFunc

	mu     sync.Mutex
	active sync.WaitGroup // exchanges; added to under mu, before closed
	closed bool
	counts Recorded
}

// Recorded is what a recording has come to.
type Recorded struct {
	Exchanges int   `json:"exchanges"` // kept
	Bytes     int64 `json:"bytes"`     // of their bodies, each different one once
	Failed    int   `json:"failed"`    // of Exchanges, those whose site did not answer, or not to the end
	// of Failed, those that were not requested since their site's certificate is not trusted
	Refused int `json:"-"`
	// Missing are those of Exchanges that cannot be replayed: websockets, bodies that were too large.
	Missing  int `json:"not_replayable"`
	Insecure int `json:"insecure"` // of Exchanges, those whose site's certificate is not trusted
	Lost     int `json:"not_kept"` // passed on, and not kept at all
	// Notes are sentences about incomplete recordings, the first of each kind and site.
	Notes []string `json:"notes"`
	// Err is why the archive could not be written on.
	Err error `json:"-"`
}

// NewRecorder makes a recorder, whose time begins.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.Memory == 0 {
		o.Memory = 512 << 20
	}
	r := &Recorder{options: o, sites: newUpstream(o), began: time.Now(), stall: stall}
	r.memory.Store(o.Memory)
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// Close aborts exchanges that are under way, and returns once they were written. The caller closes
// the archive then.
func (r *Recorder) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.active.Wait()
	r.sites.close()
}

// Recorded returns the counts so far.
func (r *Recorder) Recorded() Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Notes = append([]string{}, c.Notes...) // never null in JSON
	c.Exchanges, c.Bytes = r.options.To.totals()
	return c
}

type connectionKey struct{}

// ConnContext numbers the device's connections, for the http.Server that serves the recorder.
func (r *Recorder) ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, int(r.nextID.Add(1)))
}

// stall is how long a device may read none of its waiting data. It is also how long a site may
// continue after the device has left.
const (
	stall    = time.Minute
	lastWill = 10 * time.Second
	// writeAtOnce is what a device must take of it in that time: little, for the link may be slow
	// and have other bodies to carry.
	writeAtOnce = 16 << 10
)

// within sets a deadline for one step of a response to a device. It ends with the step: HTTP/2
// resets a stream after its deadline even without a write, for example while the site is slow. 0
// removes the deadline.
func within(control *http.ResponseController, most time.Duration, step func() error) error {
	if most == 0 {
		return step()
	}
	_ = control.SetWriteDeadline(time.Now().Add(most))
	if err := step(); err != nil {
		return err
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}

// ServeHTTP passes one request on.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	x := &passing{r: r, w: w, in: in, control: http.NewResponseController(w)}
	x.e.Began, x.e.Method, x.e.Protocol = time.Since(r.began), in.Method, in.Proto
	x.e.Connection, _ = in.Context().Value(connectionKey{}).(int)
	to, err := target(in)
	if err != nil {
		http.Error(w, "eideticker: "+err.Error(), http.StatusBadRequest)
		return
	}
	x.e.URL = to.String()
	r.mu.Lock()
	if !r.closed {
		r.active.Add(1)
	}
	closed := r.closed
	r.mu.Unlock()
	if closed {
		panic(http.ErrAbortHandler)
	}
	defer r.active.Done()
	x.pass(to)
}

// target is the URL that a request is for: its first line's, as proxies are asked, or the host's
// that it names.
func target(in *http.Request) (*url.URL, error) {
	to := *in.URL
	to.Fragment, to.User = "", nil
	if to.Host == "" {
		to.Host, to.Scheme = in.Host, "http"
		if in.TLS != nil {
			to.Scheme = "https"
		}
	}
	to.Host = strings.ToLower(to.Host)
	if port := to.Port(); port == map[string]string{"http": "80", "https": "443"}[to.Scheme] {
		to.Host = strings.TrimSuffix(to.Host, ":"+port)
	}
	if to.Hostname() == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, fmt.Errorf("a request of %.100q is for no site", to.String())
	}
	return &to, nil
}

// passing is one exchange on its way.
type passing struct {
	r       *Recorder
	w       http.ResponseWriter
	control *http.ResponseController
	in      *http.Request
	e       Exchange

	mu          sync.Mutex // of what the trace writes
	sent, first time.Time
	head        *headConn
	asked       *bounded
	way         context.Context // to the site, whose cause says who ended it first
}

// Why the way to a site has ended.
var (
	errLeft = errors.New("the device has left")
	errOver = errors.New("the recording is over")
)

func (x *passing) pass(to *url.URL) {
	// What the device breaks off is still of use for a moment; and a body must not be cut off by
	// its being read slowly.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(x.in.Context()))
	x.way = ctx
	defer cancel(nil)
	stop := context.AfterFunc(x.in.Context(), func() { time.AfterFunc(lastWill, func() { cancel(errLeft) }) })
	defer stop()
	defer context.AfterFunc(x.r.ending, func() { cancel(errOver) })()

	out := x.request(httptrace.WithClientTrace(ctx, x.trace(to)), to)
	through := x.r.sites.modern
	if upgrade := x.in.Header.Get("Upgrade"); upgrade != "" && hasToken(x.in.Header, "Connection", "upgrade") {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", upgrade)
		through = x.r.sites.plain
	}
	x.e.Header = append(Fields{{"Host", out.Host}}, sortedFields(out.Header)...)
	response, err := through.RoundTrip(out)
	x.took(to)
	if err == nil && (response.StatusCode < 100 || response.StatusCode > 999) {
		response.Body.Close()
		// and net/http panics when it is to be sent
		err = fmt.Errorf("its status is %d, which is none (RFC 9110, 15)", response.StatusCode)
	}
	if err != nil {
		x.fail(to, err)
		return
	}
	defer response.Body.Close()
	x.answered(response)
	if response.StatusCode == http.StatusSwitchingProtocols {
		x.e.Missing = notWebSocket
		x.keep()
		x.join(response)
		return
	}
	tape := newTape(x.r.options.Limits, &x.r.memory)
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		tape.fill(response.Body, func() time.Duration { return time.Since(x.first) })
	}()
	told := x.tell(response, tape)
	if !told {
		tape.leave()
		if !tape.keeping() {
			cancel(errLeft)
		} else {
			time.AfterFunc(lastWill, func() { cancel(errLeft) })
		}
	}
	<-filled
	x.ended(response, tape)
	tape.release()
	if tape.err != nil && told {
		// The length that was promised has not come: the device must see that.
		panic(http.ErrAbortHandler)
	}
	if told {
		for name, values := range response.Trailer {
			x.w.Header()[http.TrailerPrefix+name] = values
		}
	}
}

// request is the request to the site: the device's, without the fields for the connection to us.
func (x *passing) request(ctx context.Context, to *url.URL) *http.Request {
	out := (&http.Request{Method: x.in.Method, URL: to, Host: x.in.Host, Header: x.in.Header.Clone(),
		ContentLength: x.in.ContentLength, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if out.Host == "" {
		out.Host = to.Host
	}
	dropHops(out.Header)
	if hasToken(x.in.Header, "Te", "trailers") {
		out.Header.Set("Te", "trailers")
	}
	out.Header.Del("Expect") // its answer has been sent by our own server
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // else net/http sends its own
	}
	if x.in.Body != nil && x.in.ContentLength != 0 {
		x.asked = &bounded{most: min(maxRequestBody, x.r.options.Limits.Body)}
		_ = x.control.SetReadDeadline(time.Now().Add(10 * time.Minute))
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(x.in.Body, x.asked), x.in.Body}
	}
	return out
}

// bounded keeps written data up to a limit.
type bounded struct {
	mu   sync.Mutex
	b    bytes.Buffer
	most int64
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over = b.over || int64(b.b.Len()+len(p)) > b.most; b.over {
		b.b = bytes.Buffer{}
		return len(p), nil
	}
	return b.b.Write(p)
}

func (b *bounded) taken() (text []byte, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.b.Bytes()), !b.over
}

func (x *passing) trace(to *url.URL) *httptrace.ClientTrace {
	var connecting sync.Map // began, by address: several may be tried at once
	return &httptrace.ClientTrace{
		ConnectStart: func(_, address string) { connecting.Store(address, time.Now()) },
		ConnectDone: func(_, address string, err error) {
			if began, ok := connecting.Load(address); ok && err == nil {
				took := time.Since(began.(time.Time))
				x.r.sites.learn(hostPort(to), func(f *hostFacts) { f.roundTrip = took })
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			x.mu.Lock()
			defer x.mu.Unlock()
			if x.head, _ = info.Conn.(*headConn); x.head != nil {
				x.head.begin()
			}
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.mu.Lock(); x.sent = time.Now(); x.mu.Unlock() },
		GotFirstResponseByte: func() { x.mu.Lock(); x.first = time.Now(); x.mu.Unlock() },
	}
}

// took notes the times until the response began.
func (x *passing) took(to *url.URL) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.first.IsZero() {
		x.first = time.Now()
	}
	if !x.sent.IsZero() { // else the response came before the request was over
		x.e.Think = max(0, x.first.Sub(x.sent))
	}
	f := x.r.sites.facts(hostPort(to))
	x.e.RoundTrip = min(f.roundTrip, x.e.Think)
	x.e.Insecure = f.distrust
}

// answered takes the head of a response.
func (x *passing) answered(response *http.Response) {
	x.e.Status, x.e.Upstream = response.StatusCode, response.Proto
	x.e.ResponseHeader = sortedFields(response.Header)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head != nil && response.ProtoMajor == 1 {
		if f, ok := x.head.fields(response.Header); ok {
			x.e.ResponseHeader, x.e.HeaderOrder = f, true
		}
	}
}

// tell sends the response to the device as it arrives. It returns false if the device did not take
// all of it.
func (x *passing) tell(response *http.Response, t *tape) bool {
	h := x.w.Header()
	maps.Copy(h, response.Header)
	dropHops(h)
	h.Del("Alt-Svc") // leads around the recorder
	if h["Date"] == nil {
		h["Date"] = nil // else net/http adds one
	}
	x.w.WriteHeader(response.StatusCode)
	if within(x.control, x.r.stall, x.control.Flush) != nil {
		return false
	}
	for {
		b := t.next()
		if len(b) == 0 {
			return true
		}
		b = b[:min(len(b), writeAtOnce)]
		err := within(x.control, x.r.stall, func() error {
			if _, err := x.w.Write(b); err != nil {
				return err
			}
			return x.control.Flush()
		})
		if err != nil {
			return errors.Is(err, http.ErrBodyNotAllowed)
		}
		t.took(len(b))
	}
}

// ended notes a response that is over.
func (x *passing) ended(response *http.Response, t *tape) {
	x.e.Ended = max(0, t.over) // the site's end, which the device may have had later
	b, chunks, kept, err := t.whole()
	switch {
	case err != nil && errors.Is(context.Cause(x.way), errOver):
		x.e.Error = "the recording ended before it was whole"
	case err != nil && x.in.Context().Err() != nil:
		x.e.Error = "the device broke it off before it was whole"
	case err != nil:
		x.e.Error = "it ended before it was whole: " + sentence(err.Error())
	case !kept:
		x.e.Missing = fmt.Sprintf("its body is larger than %d bytes, or too much came at once", x.r.options.Limits.Body)
	}
	if kept {
		x.e.ResponseBody, x.e.Chunks = newBody(b), chunks
	}
	x.e.Trailer = sortedFields(response.Trailer)
	x.keep()
}

// fail answers in the place of a site that has not.
func (x *passing) fail(to *url.URL, err error) {
	var distrust *certificateError
	switch {
	case errors.As(err, &distrust):
		err = distrust
		x.r.mu.Lock()
		x.r.counts.Refused++
		x.r.mu.Unlock()
	case errors.Is(context.Cause(x.way), errOver):
		err = errors.New("the recording ended before there was an answer")
	case x.in.Context().Err() != nil:
		err = errors.New("the device broke it off before there was an answer")
	default:
		err = fmt.Errorf("%s does not answer: %w", to.Host, err)
	}
	x.e.Error = sentence(err.Error())
	x.keep()
	http.Error(x.w, "eideticker: "+x.e.Error, http.StatusBadGateway)
}

// keep writes the exchange into the archive.
func (x *passing) keep() {
	e := &x.e
	if x.asked != nil {
		b, whole := x.asked.taken()
		e.Body = newBody(b)
		if !whole && e.Missing == "" {
			e.Missing = fmt.Sprintf("the body of its request is larger than %d bytes", x.asked.most)
		}
	}
	err := x.r.options.To.write(e)
	why := ""
	if err != nil {
		why = sentence(err.Error())
	}
	x.r.count(e, err)
	if x.r.options.OnExchange != nil {
		x.r.options.OnExchange(e, why)
	}
}

func (r *Recorder) count(e *Exchange, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.counts
	if err != nil {
		c.Lost++
		if c.Err == nil && !errors.Is(err, errFull) && r.options.To.failed() != nil {
			c.Err = err
		}
		c.note("%s was passed on and not kept: %v", e.URL, err)
		return
	}
	if e.Error != "" {
		c.Failed++
		c.note("%s: %s", origin(e.URL), e.Error)
	}
	if e.Missing != "" {
		c.Missing++
		c.note("%s: %s", e.URL, e.Missing)
	}
	if e.Insecure != "" {
		c.Insecure++
		c.note("%s: recorded, although its certificate is not trusted (%s)", origin(e.URL), e.Insecure)
	}
}

func (c *Recorded) note(format string, args ...any) {
	if text := sentence(fmt.Sprintf(format, args...)); len(c.Notes) < maxNotes && !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// origin is a URL's scheme and host.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// join hands a websocket through.
func (x *passing) join(response *http.Response) {
	site, ok := response.Body.(io.ReadWriteCloser)
	device, buffered, err := x.control.Hijack()
	if !ok || err != nil {
		return // HTTP/2, where no websocket was promised
	}
	defer device.Close()
	defer context.AfterFunc(x.r.ending, func() { device.Close(); site.Close() })()
	_ = device.SetDeadline(time.Time{})
	response.Body = nil
	if response.Write(device) != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(site, buffered)
		site.Close()
	})
	_, _ = io.Copy(device, site)
	device.Close()
	wg.Wait()
}

// hops are the fields that are between two neighbours (RFC 9110, 7.6.1).
var hops = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade"}

func dropHops(h http.Header) {
	for _, field := range h["Connection"] {
		for name := range strings.SplitSeq(field, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hops {
		h.Del(name)
	}
}

func hasToken(h http.Header, name, want string) bool {
	for _, field := range h.Values(name) {
		for one := range strings.SplitSeq(field, ",") {
			if strings.EqualFold(strings.TrimSpace(one), want) {
				return true
			}
		}
	}
	return false
}
