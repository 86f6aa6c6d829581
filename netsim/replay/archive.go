package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/netsim/internal/body"
)

// Archive is a recording of sites, all of it in memory. It does not change after it was read.
type Archive struct {
	Info      Info
	Exchanges []*Exchange // in the order in which they began
	// Notes are sentences on what the file had that is not here: parts that are cut off or damaged,
	// bodies that a browser has not exported.
	Notes []string
}

// Info is what an archive says of itself.
type Info struct {
	Writer  string    // the program and its version
	Created time.Time // when recording began
	// Clock is what the pages' clock said when recording began, if that was not Created: a page
	// that was recorded with a clock of its own asks for the same URLs only by that clock.
	Clock time.Time
	Seed  uint64 // of the chance that pages had while they were recorded; 0: their own
}

// Exchange is one request and what became of it.
type Exchange struct {
	Number     int           // from 1, in the order in which they were kept: as they ended
	Connection int           // of the device's, from 1; 0: not known
	Protocol   string        // that the device spoke: HTTP/1.1, HTTP/2.0; "": not known
	Upstream   string        // that the site spoke
	Began      time.Duration // since recording began

	Method string
	URL    string // with scheme and host, without fragment
	Header Fields // of the request, as it went to the site
	Body   Body   // of the request

	Status         int // 0: there was no response
	ResponseHeader Fields
	// HeaderOrder says that ResponseHeader has its names in the order, and the spelling, in which
	// they came. HTTP/2 has them sorted, and in canonical spelling.
	HeaderOrder  bool
	ResponseBody Body // as it was sent: packed, if it was; without the framing of chunks
	Trailer      Fields

	// Think is from when the request was sent to the first byte of the response; RoundTrip what
	// connecting took, one way and back, and is part of Think.
	Think, RoundTrip time.Duration
	Chunks           []Chunk
	Ended            time.Duration // since the first byte

	Insecure string // why the site's certificate is not trusted, if it was recorded all the same
	// Missing is the reason why ResponseBody is absent or incomplete: too large, a websocket or not
	// exported. Such a response is not replayed.
	Missing string
	Error   string // why the response is missing or incomplete
}

// Chunk is a part of a response's body: so many bytes, which were there at one time.
type Chunk struct {
	Bytes int64
	After time.Duration // since the first byte of the response
}

// Field is one line of a header. Header fields of one name stay in their order.
type Field struct{ Name, Value string }

// Fields are a header.
type Fields []Field

// Get returns the first value of a name, in any spelling, or "".
func (f Fields) Get(name string) string {
	for _, h := range f {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// Header returns fields as net/http has them.
func (f Fields) Header() http.Header {
	h := make(http.Header, len(f))
	for _, one := range f {
		h.Add(one.Name, one.Value)
	}
	return h
}

// codings returns the content codings, in the order in which they were applied.
func (f Fields) codings() []string { return body.Codings(f.Header().Values("Content-Encoding")) }

// sortedFields returns a header's fields by name.
func sortedFields(h http.Header) (f Fields) {
	for name, values := range h {
		for _, v := range values {
			f = append(f, Field{name, v})
		}
	}
	slices.SortStableFunc(f, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// Replayable reports whether the response is one that can be given again; if not, why.
func (e *Exchange) Replayable() (bool, string) {
	switch {
	case e.Missing != "":
		return false, e.Missing
	case e.interim():
		return false, e.notFinal()
	case e.Error != "":
		return false, e.Error
	case e.Status < 200:
		return false, "there was no response"
	}
	return true, ""
}

// interim reports whether the response is one that comes before the answer (RFC 9110, 15.2). Who
// gave it as the answer would have net/http make up another behind it.
func (e *Exchange) interim() bool { return e.Status >= 100 && e.Status < 200 }

// notFinal is why such a response is not replayed.
func (e *Exchange) notFinal() string {
	if e.Status == http.StatusSwitchingProtocols {
		return notWebSocket
	}
	return strings.TrimSpace(fmt.Sprintf("only the interim response was recorded: %d %s", e.Status,
		http.StatusText(e.Status)))
}

// Limits bound recordings and files.
type Limits struct {
	Exchanges int
	Header    int   // bytes of the names and values of one header
	Fields    int   // of one header
	URL       int   // bytes
	Body      int64 // bytes of one body, as sent
	Total     int64 // bytes of all different bodies together
	Texts     int64 // bytes of all exchanges without their bodies, as an archive has them: JSON
	Chunks    int   // of one response: times of more are put together
}

// DefaultLimits are for pages as browsers load them.
func DefaultLimits() Limits {
	return Limits{Exchanges: 100_000, Header: 256 << 10, Fields: 1000, URL: 64 << 10, Body: 64 << 20, Total: 1 << 30,
		Texts: 1 << 30, Chunks: 2048}
}

// maxRequestBody bounds bodies of requests, which are kept to tell requests apart.
const maxRequestBody = 16 << 20

// maxText bounds sentences: notes, errors.
const maxText = 1000

// maxNotes bounds how many sentences an archive has.
const maxNotes = 100

// Year is longer than any time in an archive; hostile times must not overflow sums.
const year = 365 * 24 * time.Hour

func (a *Archive) note(format string, args ...any) {
	switch len(a.Notes) {
	case maxNotes:
		a.Notes = append(a.Notes, "there is more like that")
	case maxNotes + 1:
	default:
		a.Notes = append(a.Notes, sentence(fmt.Sprintf(format, args...)))
	}
}

// sentence is a text of others, made fit to be kept and shown.
func sentence(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxText {
		cut := maxText
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// check refuses an exchange that no recorder can have made.
func (e *Exchange) check(l Limits) error {
	if len(e.URL) > l.URL {
		return fmt.Errorf("a URL of %d bytes is longer than %d", len(e.URL), l.URL)
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return fmt.Errorf("%.200q is not a URL of a site", e.URL)
	}
	if !token(e.Method) || len(e.Method) > 64 {
		return fmt.Errorf("invalid method %.100q", e.Method)
	}
	if e.Status != 0 && (e.Status < 100 || e.Status > 999) {
		return fmt.Errorf("%d is not a status", e.Status)
	}
	for _, f := range []Fields{e.Header, e.ResponseHeader, e.Trailer} {
		if err := f.check(l); err != nil {
			return err
		}
	}
	for _, d := range []time.Duration{e.Began, e.Think, e.RoundTrip, e.Ended} {
		if d < 0 || d > year {
			return fmt.Errorf("a time of %v is not between 0 and a year", d)
		}
	}
	if len(e.Chunks) > l.Chunks {
		return fmt.Errorf("%d chunks are more than %d", len(e.Chunks), l.Chunks)
	}
	var sum int64
	var last time.Duration
	for _, c := range e.Chunks {
		if c.Bytes <= 0 || c.Bytes > e.ResponseBody.Size-sum || c.After < last || c.After > year {
			return errors.New("its chunks do not add up")
		}
		sum, last = sum+c.Bytes, c.After
	}
	return nil
}

func (f Fields) check(l Limits) error {
	if len(f) > l.Fields {
		return fmt.Errorf("a header of %d fields has more than %d", len(f), l.Fields)
	}
	sum := 0
	for _, h := range f {
		sum += len(h.Name) + len(h.Value)
		if !token(h.Name) {
			return fmt.Errorf("%.100q is not a name of a header field", h.Name)
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the header field %.100q has characters that none may have", h.Name)
		}
	}
	if sum > l.Header {
		return fmt.Errorf("a header of %d bytes is longer than %d", sum, l.Header)
	}
	return nil
}

// noText tells which part of what a response is known by has bytes that JSON cannot have; "": none.
func (e *Exchange) noText() string {
	if !utf8.ValidString(e.URL) {
		return "its URL"
	}
	for _, f := range []Fields{e.ResponseHeader, e.Trailer} {
		for _, h := range f {
			if !utf8.ValidString(h.Value) {
				return "its header field " + h.Name
			}
		}
	}
	return ""
}

// token is RFC 9110, 5.6.2.
func token(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

var errNoFile = errors.New("it is not a file")

// Open reads an archive, a HAR or an archive of Web Page Replay, whichever the file is.
func Open(path string, l Limits) (*Archive, error) {
	info, err := os.Stat(path) // before it is opened, which a pipe keeps waiting
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w", path, errNoFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := read(f, l)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return a, nil
}

// OpenIn reads one of a folder, or below it.
func OpenIn(folder fs.FS, name string, l Limits) (*Archive, error) {
	info, err := fs.Stat(folder, name) // as above
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w", name, errNoFile)
	}
	opened, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	f, ok := opened.(seekable)
	if !ok {
		return nil, fmt.Errorf("read %s: %w: not seekable", name, errors.ErrUnsupported)
	}
	a, err := read(f, l)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return a, nil
}

// seekable is what an archive is read from.
type seekable interface {
	fs.File
	io.ReaderAt
	io.Seeker
}

func read(f seekable, l Limits) (*Archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return readArchive(f, info.Size(), l)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return ImportWPR(bufio.NewReader(f), l)
	case bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("{")):
		return importHAR(bufio.NewReader(f), l)
	}
	return nil, errors.New("neither a site archive, nor a HAR, nor a Web Page Replay archive")
}
