package replay

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/internal/body"
	"github.com/eideticker/eideticker/netsim/internal/document"
)

// ReplayerOptions are how a [Replayer] answers.
type ReplayerOptions struct {
	Rules Rules
	// wait as long as the sites took, and send bodies in the times in which they came; else all at
	// once
	Recorded    bool
	Determinism *Determinism // nil: pages have the device's own clock and chance
	// KeepDates leaves Date, Expires and the ends of cookies as they were recorded. Otherwise they
	// are moved by the time since then, so that fresh responses stay fresh.
	KeepDates bool
	// OnAnswer is called for each request once it was answered. It may be called from several
	// goroutines at once. May be nil.
	OnAnswer func(Answer)
}

// Answer is what became of a request.
type Answer struct {
	Method, URL string
	Exchange    int // its number; 0: nothing recorded answers it
	// Loose says how the request is not quite the recorded one; "": it is.
	Loose   string
	Missed  string // why nothing answers
	Nearest string // for a miss, the most similar recorded URL
	Status  int
	Bytes   int64 // of the body, as sent
	Began   timeline.Time
	// Late is how much later than asked the first byte was sent; 0 if no time was asked.
	Late time.Duration
}

// Replayer answers requests from an archive. It takes the site from the request's Host and
// connection. For proxy requests it is in the first line.
type Replayer struct {
	options ReplayerOptions
	archive *Archive
	match   *match
	ledger  ledger
	script  []byte // of Determinism
	hash    string
	moved   time.Duration // since the recording
	stall   time.Duration
	precise chan struct{} // room for those whose thread sleeps itself

	mu       sync.Mutex
	prepared map[preparedKey]*prepared
	room     int64 // bytes of prepared that may be kept yet
}

// maxPrecise bounds the number of sleeping threads. Further waits use the runtime's timers, which
// are late on a busy machine.
const maxPrecise = 128

// NewReplayer makes a replayer.
func NewReplayer(a *Archive, o ReplayerOptions) (*Replayer, error) {
	if len(o.Rules.Ignore) > maxIgnored || len(o.Rules.Headers) > maxIgnored {
		return nil, fmt.Errorf("there are more than %d rules", maxIgnored)
	}
	for _, pattern := range o.Rules.Ignore {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern of a query parameter", pattern)
		}
	}
	r := &Replayer{options: o, archive: a, match: newMatch(a, o.Rules), stall: stall,
		precise: make(chan struct{}, maxPrecise), prepared: map[preparedKey]*prepared{}, room: DefaultLimits().Total}
	r.ledger.begin(a)
	if o.Determinism != nil {
		d := *o.Determinism
		if d.Clock.IsZero() {
			d.Clock = a.Info.Clock
		}
		if d.Clock.IsZero() {
			d.Clock = a.Info.Created
		}
		r.script, r.hash = d.script()
	}
	if !o.KeepDates && !a.Info.Created.IsZero() {
		r.moved = time.Since(a.Info.Created).Truncate(time.Second)
	}
	return r, nil
}

// Fidelity returns how well the archive has answered so far.
func (r *Replayer) Fidelity() Fidelity { return r.ledger.fidelity() }

// unlisted is the key of contexts of requests that no page makes.
type unlisted struct{}

// Unlisted returns a context for requests that are not a part of [Fidelity].
func Unlisted(ctx context.Context) context.Context { return context.WithValue(ctx, unlisted{}, true) }

// ServeHTTP answers one request.
func (r *Replayer) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	clock := timeline.Monotonic()
	answer := Answer{Method: in.Method, Began: clock.Now()}
	defer func() {
		if in.Context().Value(unlisted{}) != nil {
			return
		}
		r.ledger.add(&answer)
		if r.options.OnAnswer != nil {
			r.options.OnAnswer(answer)
		}
	}()
	to, err := target(in)
	if err != nil {
		answer.Missed, answer.Status = err.Error(), http.StatusBadRequest
		http.Error(w, "eideticker: "+err.Error(), answer.Status)
		return
	}
	answer.URL = to.String()
	a := &asked{method: in.Method, url: to, header: in.Header}
	if a.sum, a.whole, err = hashBody(w, in.Body); err != nil {
		answer.Missed, answer.Status = "its body did not come: "+err.Error(), http.StatusBadRequest
		return
	}
	received := clock.Now()
	f, missed := r.match.find(a)
	if missed != "" {
		answer.Missed, answer.Nearest, answer.Status = missed, r.match.nearest(a), http.StatusNotFound
		miss(w, &answer)
		return
	}
	answer.Exchange, answer.Loose = f.Number, f.loose
	r.answer(w, in, f, received, &answer)
}

// miss answers a missing request with a sentence for the device and its console.
func miss(w http.ResponseWriter, a *Answer) {
	text := fmt.Sprintf("eideticker: %s %s: %s.\n", a.Method, a.URL, a.Missed)
	if a.Nearest != "" {
		text += "The most similar one is " + a.Nearest + "\n"
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Access-Control-Allow-Origin", "*") // so that the console shows this, and no riddle about origins
	http.Error(w, text, http.StatusNotFound)
}

// hashBody reads a request to its end.
func hashBody(w http.ResponseWriter, body io.Reader) (sum [sha256.Size]byte, whole bool, err error) {
	if body == nil {
		return sum, true, nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Minute))
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(body, maxRequestBody))
	if err != nil || n == 0 {
		return sum, err == nil, err
	}
	more, err := io.Copy(io.Discard, io.LimitReader(body, DefaultLimits().Total))
	h.Sum(sum[:0])
	return sum, more == 0 && err == nil, err
}

func (r *Replayer) answer(w http.ResponseWriter, in *http.Request, f found, received timeline.Time, answer *Answer) {
	e := f.Exchange
	p := r.prepare(in, &f)
	first := received
	if r.options.Recorded {
		first = received.Add(e.Think - e.RoundTrip)
		if r.wait(in.Context(), first) != nil {
			answer.Missed = "the device broke it off"
			return
		}
		answer.Late = timeline.Monotonic().Now().Sub(first)
	}
	if e.Status == 0 {
		answer.Status = http.StatusBadGateway
		http.Error(w, "eideticker: when this was recorded: "+e.Error, answer.Status)
		return
	}
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	for _, name := range []string{"Content-Type", "Date"} { // that net/http makes up
		if h[name] == nil {
			h[name] = nil
		}
	}
	bare := in.Method == http.MethodHead || len(p.body) == 0 && e.Error == ""
	if !bare && e.Error == "" { // before the head, so that it is known of a body that it does not end the response
		for _, t := range e.Trailer {
			h.Add(http.TrailerPrefix+t.Name, t.Value)
		}
	}
	answer.Status = p.status
	w.WriteHeader(p.status)
	control := http.NewResponseController(w)
	if r.options.Recorded && len(p.chunks) > 0 && within(control, r.stall, control.Flush) != nil {
		return
	}
	if bare {
		return
	}
	r.send(in.Context(), w, control, p, first, answer)
	if e.Error != "" {
		_ = within(control, r.stall, control.Flush)
		panic(http.ErrAbortHandler) // as it was recorded: what had been promised did not come
	}
}

// send writes the body, each chunk at its own time, which is counted from when the response was
// due: being late once makes nothing else late.
func (r *Replayer) send(ctx context.Context, w http.ResponseWriter, control *http.ResponseController, p *prepared,
	first timeline.Time, answer *Answer) {
	body, chunks := p.body, p.chunks
	if !r.options.Recorded || len(chunks) == 0 {
		chunks = []Chunk{{int64(len(body)), 0}}
	}
	stall, most := r.stall, writeAtOnce
	if isGuarded(w) {
		// Between two writes of a response, a less urgent one has its turn.
		stall, most = 0, len(body)
	}
	for i := 0; i < len(chunks); i++ {
		if after := chunks[i].After; after > 0 && r.wait(ctx, first.Add(after)) != nil {
			return
		}
		bytes := chunks[i].Bytes
		for now := timeline.Monotonic().Now(); i+1 < len(chunks) && now >= first.Add(chunks[i+1].After); i++ {
			bytes += chunks[i+1].Bytes // on a slow link, later chunks are due as well
		}
		part := body[:min(bytes, int64(len(body)))]
		if i == len(chunks)-1 {
			part = body
		}
		body = body[len(part):]
		for len(part) > 0 {
			some := part[:min(len(part), most)]
			part = part[len(some):]
			err := within(control, stall, func() error {
				n, err := w.Write(some)
				answer.Bytes += int64(n)
				return err
			})
			if err != nil {
				return
			}
		}
		if len(chunks) > 1 && within(control, stall, control.Flush) != nil {
			return
		}
	}
	if stall > 0 {
		_ = control.SetWriteDeadline(time.Now().Add(stall)) // for what net/http still has of it
	}
}

// isGuarded reports whether the server itself gives up a device that takes nothing of a response.
func isGuarded(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case interface{ Guarded() }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}

// wait returns at a time, or when ctx ends.
func (r *Replayer) wait(ctx context.Context, t timeline.Time) error {
	select {
	case r.precise <- struct{}{}:
		defer func() { <-r.precise }()
		return timeline.SleepUntil(ctx, t)
	default:
	}
	timer := time.NewTimer(t.Sub(timeline.Monotonic().Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prepared is a response, ready to be sent.
type prepared struct {
	status int
	header http.Header
	body   []byte
	chunks []Chunk
}

// preparedKey is what a response's bytes depend on.
type preparedKey struct {
	e      *Exchange
	inject bool
	coding string // as the device takes it
}

// prepare makes a response from the recording: in a coding that the device accepts, with the script
// if necessary, and with the requested part.
func (r *Replayer) prepare(in *http.Request, f *found) *prepared {
	e := f.Exchange
	applied := e.ResponseHeader.codings()
	inject := r.script != nil && f.to == 0 && isDocument(in, e)
	take := in.Header.Get("Accept-Encoding")
	k := preparedKey{e, inject, strings.Join(applied, ",")}
	if !body.Accepts(take, applied) {
		if k.coding = ""; inject && body.AcceptsOne(take, "gzip") {
			k.coding = "gzip"
		}
	}
	if f.to > 0 || f.fresh {
		k = preparedKey{e, false, strings.Join(applied, ",")} // ranges refer to the recorded bytes
	}
	r.mu.Lock()
	p, ok := r.prepared[k]
	r.mu.Unlock()
	if !ok {
		p = r.make(k, applied)
		r.mu.Lock()
		if changed := int64(len(p.body)); changed <= r.room {
			if inject || k.coding != strings.Join(applied, ",") {
				r.room -= changed
			}
			r.prepared[k] = p
		}
		r.mu.Unlock()
	}
	return r.part(p, f)
}

func (r *Replayer) make(k preparedKey, applied []string) *prepared {
	e := k.e
	p := &prepared{status: e.Status, header: r.header(e), body: e.ResponseBody.Bytes, chunks: e.Chunks}
	if k.inject || k.coding != strings.Join(applied, ",") {
		r.rewrite(p, k, applied)
	}
	return p
}

// rewrite changes a body; one that cannot be unpacked stays as it was recorded.
func (r *Replayer) rewrite(p *prepared, k preparedKey, applied []string) {
	plain, err := body.Unpack(p.body, applied, 8*DefaultLimits().Body)
	if err != nil {
		r.ledger.note("%s is sent as it was recorded: %v", k.e.URL, err)
		return
	}
	if k.inject {
		var ok bool
		if plain, ok = document.Inject(plain, r.script); !ok {
			r.ledger.note("%s has no clock and chance of its own: it is in UTF-16", k.e.URL)
			return
		}
	}
	var again []string
	if k.coding != "" {
		again = strings.Split(k.coding, ",")
	}
	body, err := body.Pack(plain, again)
	if err != nil {
		r.ledger.note("%s is sent as it was recorded: %v", k.e.URL, err)
		return
	}
	p.chunks = scaled(k.e.Chunks, int64(len(p.body)), int64(len(body)))
	p.body = body
	p.header.Del("Content-Encoding")
	if len(again) > 0 {
		p.header.Set("Content-Encoding", strings.Join(again, ", "))
	}
	for _, name := range []string{"Digest", "Content-Digest", "Repr-Digest", "Content-Md5"} {
		p.header.Del(name)
	}
	if p.header.Get("Content-Length") != "" {
		p.header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if !k.inject {
		return
	}
	for _, name := range []string{"Content-Security-Policy", "Content-Security-Policy-Report-Only"} {
		for i, policy := range p.header[name] {
			p.header[name][i] = document.AllowScript(policy, r.hash)
		}
	}
}

// scaled gives chunks of one body's lengths to another body, each its share.
func scaled(all []Chunk, from, to int64) (out []Chunk) {
	var sum, done int64
	for _, c := range all {
		sum += c.Bytes
		if upTo := int64(float64(to) * float64(sum) / float64(max(1, from))); upTo > done {
			out = append(out, Chunk{upTo - done, c.After})
			done = upTo
		}
	}
	return out
}

// part is the requested range of a response.
func (r *Replayer) part(p *prepared, f *found) *prepared {
	switch {
	case f.fresh:
		q := &prepared{status: http.StatusNotModified, header: p.header.Clone()}
		for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Type", "Content-Range"} {
			q.header.Del(name)
		}
		return q
	case f.to == 0:
		return p
	}
	q := &prepared{status: http.StatusPartialContent, header: p.header.Clone(), body: p.body[f.from:f.to],
		chunks: cut(p.chunks, f.from, f.to)}
	first, size := int64(0), int64(len(p.body))
	if f.Status == http.StatusPartialContent {
		first, size, _ = contentRange(f.Exchange)
	}
	q.header.Set("Content-Length", strconv.Itoa(len(q.body)))
	if f.from == 0 && f.to == size && f.Status == http.StatusPartialContent {
		q.status = http.StatusOK // nobody asked for a part
		q.header.Del("Content-Range")
		return q
	}
	q.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first+f.from, first+f.to-1, size))
	return q
}

// cut is the chunks of a part of a body.
func cut(all []Chunk, from, to int64) (out []Chunk) {
	var at int64
	for _, c := range all {
		if low, high := max(at, from), min(at+c.Bytes, to); low < high {
			out = append(out, Chunk{high - low, c.After})
		}
		at += c.Bytes
	}
	return out
}

// isDocument reports whether a response is an HTML document that the browser will show: what a
// script fetches to read it stays as it is.
func isDocument(in *http.Request, e *Exchange) bool {
	if body.MediaType(e.ResponseHeader.Get("Content-Type")) != "text/html" || e.ResponseBody.Size == 0 ||
		e.Status == http.StatusPartialContent {
		return false
	}
	dest := in.Header.Get("Sec-Fetch-Dest")
	return dest == "" || slices.Contains([]string{"document", "iframe", "frame", "embed", "object", "fencedframe"},
		dest)
}

// header is the recorded header, adapted to our connection and to today.
func (r *Replayer) header(e *Exchange) http.Header {
	h := e.ResponseHeader.Header()
	dropHops(h)
	h.Del("Alt-Svc") // of the sites' own ports and protocols
	if h.Get("Content-Length") != "" && e.Method != http.MethodHead && e.Status != http.StatusNotModified {
		h.Set("Content-Length", strconv.FormatInt(e.ResponseBody.Size, 10))
		if e.Error != "" {
			h["Content-Length"] = []string{e.ResponseHeader.Get("Content-Length")} // of which not all comes
		}
	}
	if r.moved == 0 {
		return h
	}
	for _, name := range []string{"Date", "Expires"} {
		for i, v := range h[name] {
			h[name][i] = r.later(v)
		}
	}
	for i, v := range h["Set-Cookie"] {
		parts := strings.Split(v, ";")
		for j, p := range parts {
			if name, at, ok := strings.Cut(p, "="); ok && j > 0 &&
				strings.EqualFold(strings.TrimSpace(name), "expires") {
				parts[j] = name + "=" + r.later(at)
			}
		}
		h["Set-Cookie"][i] = strings.Join(parts, ";")
	}
	return h
}

// later moves a date by the time since the recording. Dates that were past then, as of a deleted
// cookie, do not change.
func (r *Replayer) later(text string) string {
	t, err := http.ParseTime(strings.TrimSpace(text))
	for _, form := range []string{"Mon, 02-Jan-2006 15:04:05 MST", "Mon, 02-Jan-06 15:04:05 MST"} {
		if err != nil {
			t, err = time.Parse(form, strings.TrimSpace(text))
		}
	}
	if err != nil || t.Before(r.archive.Info.Created.Add(-24*time.Hour)) {
		return text
	}
	return t.Add(r.moved).UTC().Format(http.TimeFormat)
}
