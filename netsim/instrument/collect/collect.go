// Package collect receives the records of instrumented scripts.
//
// SCRIPT.md in the folder above specifies the requests. Pages are hostile. So a collector limits
// the bytes of a batch, of a realm and of all realms. It also limits the number of realms, and the
// bytes that are read at the same time. It starts no goroutines.
//
// The caller's [http.Server] must set ReadHeaderTimeout, ReadTimeout and IdleTimeout. They are the
// only limits of slow clients.
package collect

import (
	"crypto/subtle"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Limits of a collector.
const (
	// defaultQuota is 4 million records.
	defaultQuota = 64 << 20
	maxRealms    = 1 << 10
	maxSequence  = 1 << 18  // batches of a realm
	maxReading   = 32 << 20 // bytes of the batches that are read at the same time
)

// Options describe a collector.
type Options struct {
	Secret string         // a path element, at least 8 characters
	Clock  timeline.Clock // default: timeline.Monotonic
	Quota  int64          // bytes of all accepted batches (default: defaultQuota)
	// RealmQuota limits the bytes of one realm (default: Quota).
	RealmQuota int64
	// Accept receives each valid batch once, one at a time. raw is valid until it returns.
	Accept func(at timeline.Time, b *record.Batch, raw []byte)
	// Rewrite returns code that a page has made with insertions, or false. Without it, no code has any.
	Rewrite func(goal, page, text string) (changed string, ok bool)
}

// Collector is an http.Handler for concurrent use. It answers only below /.eideticker/SECRET/.
type Collector struct {
	options Options
	start   timeline.Time
	mu      sync.Mutex
	realms  map[uint32]*realm
	reading int64
	stats   Stats
}

// realm is the account of one realm.
type realm struct {
	kind   record.RealmKind
	origin float64
	bytes  int64
	seen   []uint64 // a bit for each sequence number
	count  int64
	next   int64 // 1 + the largest sequence number
}

// Stats count requests and batches.
type Stats struct {
	Batches, Records, Bytes int64 // accepted
	Dropped                 int64 // invalid records and details of accepted batches
	Duplicates              int64 // batches that had arrived before
	Missing                 int64 // batches whose sequence number never arrived
	Realms                  int
	Questions               int64            // for the clock
	Refused                 map[string]int64 // batches by reason
}

// The reasons for which batches are refused.
const (
	refusedInvalid  = "invalid"      // Decode returns an error
	refusedLarge    = "too large"    // more bytes than a batch may have
	refusedCut      = "cut"          // the body ended early
	refusedBusy     = "busy"         // too many bytes are being read
	refusedQuota    = "quota"        // of all realms
	refusedRealm    = "realm quota"  // of this realm
	refusedRealms   = "realms"       // too many
	refusedSequence = "sequence"     // too many batches of this realm
	refusedContrary = "other realm"  // kind or time origin contradict an earlier batch
	refusedMethod   = "wrong method" // of a request for /records or /rewrite
)

var (
	errSecret = errors.New("collector: the secret must have at least 8 characters: letters, digits, - and _")
	errAccept = errors.New("collector: Accept is missing")
)

// New returns a collector. Its clock starts now. It panics without a usable secret or Accept: these
// are mistakes of the program.
func New(o Options) *Collector {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if len(o.Secret) < 8 || strings.IndexFunc(o.Secret, func(c rune) bool { return !plain(c) }) >= 0 {
		panic(errSecret)
	}
	if o.Accept == nil {
		panic(errAccept)
	}
	if o.Clock == nil {
		o.Clock = timeline.Monotonic()
	}
	if o.Quota == 0 {
		o.Quota = defaultQuota
	}
	if o.RealmQuota == 0 {
		o.RealmQuota = o.Quota
	}
	return &Collector{
		options: o, start: o.Clock.Now(), realms: map[uint32]*realm{}, stats: Stats{Refused: map[string]int64{}},
	}
}

// Start returns the time from which the clock of the answers counts.
func (c *Collector) Start() timeline.Time { return c.start }

// Stats returns the counts until now. A batch that is on its way counts as missing.
func (c *Collector) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Refused = maps.Clone(s.Refused)
	s.Realms = len(c.realms)
	for _, r := range c.realms {
		s.Missing += r.next - r.count
	}
	return s
}

// ServeHTTP answers one request. All paths other than the collector's three are not found.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/.eideticker/")
	secret, name, _ := strings.Cut(rest, "/")
	known := subtle.ConstantTimeCompare([]byte(secret), []byte(c.options.Secret)) == 1
	if !ok || !known || name != "clock" && name != "records" && name != "rewrite" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Timing-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", "no-store")
	if name == "clock" {
		c.serveClock(w, r)
		return
	}
	receive := c.receive
	if name == "rewrite" {
		receive = c.rewrite
	}
	status, reason := receive(w, r)
	if reason != "" {
		c.mu.Lock()
		c.stats.Refused[reason]++
		c.mu.Unlock()
	}
	if status != http.StatusOK { // rewrite has answered
		w.WriteHeader(status)
	}
}

func (c *Collector) serveClock(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c.mu.Lock()
	c.stats.Questions++
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	// The clock is read last: the page's time after the answer must follow it closely.
	answer := make([]byte, 0, 20)
	answer = strconv.AppendInt(answer, int64(c.options.Clock.Now()-c.start), 10)
	_, _ = w.Write(answer) // the client may have left
}

// receive reads one batch. It returns the status of the answer, and the reason of a refusal.
func (c *Collector) receive(w http.ResponseWriter, r *http.Request) (status int, refused string) {
	raw, free, status, refused := c.read(w, r)
	defer free()
	if refused != "" {
		return status, refused
	}
	at := c.options.Clock.Now()
	b, err := record.Decode(raw)
	if err != nil {
		return http.StatusBadRequest, refusedInvalid
	}
	return c.accept(at, &b, raw)
}

// read reads a body. The bytes count until free is called.
func (c *Collector) read(w http.ResponseWriter, r *http.Request) (raw []byte, free func(), status int, refused string) {
	free = func() {}
	if r.Method != http.MethodPost {
		return nil, free, http.StatusMethodNotAllowed, refusedMethod
	}
	size := r.ContentLength
	if size < 0 {
		size = record.MaxBatch
	}
	if size > record.MaxBatch {
		return nil, free, http.StatusBadRequest, refusedLarge
	}
	if !c.reserve(size) {
		return nil, free, http.StatusTooManyRequests, refusedBusy
	}
	free = func() { c.release(size) }
	raw, err := readAll(http.MaxBytesReader(w, r.Body, record.MaxBatch), size)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, free, http.StatusBadRequest, refusedLarge
	} else if err != nil {
		return nil, free, http.StatusBadRequest, refusedCut
	}
	return raw, free, 0, ""
}

// rewrite answers with the code of a page and its insertions, or with 204.
func (c *Collector) rewrite(w http.ResponseWriter, r *http.Request) (status int, refused string) {
	raw, free, status, refused := c.read(w, r)
	defer free()
	if refused != "" {
		return status, refused
	}
	if c.options.Rewrite == nil || !utf8.Valid(raw) {
		return http.StatusNoContent, ""
	}
	query := r.URL.Query()
	changed, ok := c.options.Rewrite(query.Get("goal"), query.Get("url"), string(raw))
	if !ok {
		return http.StatusNoContent, ""
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, changed) // the page may have left
	return http.StatusOK, ""
}

// reserve counts bytes that are read now, and reports whether they keep to the limits.
func (c *Collector) reserve(size int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading+size > maxReading {
		return false
	}
	c.reading += size
	return true
}

func (c *Collector) release(size int64) {
	c.mu.Lock()
	c.reading -= size
	c.mu.Unlock()
}

// readAll reads a body that usually has a known size.
func readAll(r io.Reader, size int64) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case len(buf) == cap(buf): // more than was announced
			return nil, io.ErrUnexpectedEOF
		}
	}
}

// accept checks the account of the batch's realm and passes the batch on.
func (c *Collector) accept(at timeline.Time, b *record.Batch, raw []byte) (status int, refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(raw))
	re := c.realms[b.Realm]
	switch {
	case b.Sequence >= maxSequence:
		return http.StatusTooManyRequests, refusedSequence
	case re == nil && len(c.realms) == maxRealms:
		return http.StatusTooManyRequests, refusedRealms
	case re == nil:
		re = &realm{kind: b.Kind, origin: b.Origin}
	case re.kind != b.Kind || re.origin != b.Origin:
		return http.StatusBadRequest, refusedContrary
	case re.has(b.Sequence):
		c.stats.Duplicates++
		return http.StatusNoContent, ""
	}
	if c.stats.Bytes+size > c.options.Quota {
		return http.StatusTooManyRequests, refusedQuota
	}
	if re.bytes+size > c.options.RealmQuota {
		return http.StatusTooManyRequests, refusedRealm
	}
	c.realms[b.Realm] = re
	re.add(b.Sequence)
	re.bytes += size
	c.stats.Batches++
	c.stats.Bytes += size
	c.stats.Records += int64(len(b.Records))
	c.stats.Dropped += int64(b.Dropped + b.DroppedDetails)
	c.options.Accept(at, b, raw)
	return http.StatusNoContent, ""
}

func (re *realm) has(sequence uint32) bool {
	word := int(sequence / 64)
	return word < len(re.seen) && re.seen[word]>>(sequence%64)&1 == 1
}

func (re *realm) add(sequence uint32) {
	if missing := int(sequence/64) + 1 - len(re.seen); missing > 0 {
		re.seen = append(re.seen, make([]uint64, missing)...)
	}
	re.seen[sequence/64] |= 1 << (sequence % 64)
	re.count++
	re.next = max(re.next, int64(sequence)+1)
}
