package replay

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/har"
)

// file is a sink in memory.
type file struct {
	bytes.Buffer
	room  int // bytes after which the disk is full; 0: none
	syncs int
}

func (f *file) Write(p []byte) (int, error) {
	if f.room > 0 && f.Len()+len(p) > f.room {
		n, _ := f.Buffer.Write(p[:f.room-f.Len()])
		return n, errors.New("no space left")
	}
	return f.Buffer.Write(p)
}

func (f *file) Sync() error { f.syncs++; return nil }

var created = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// samples are exchanges with everything that one may have.
func samples() []*Exchange {
	long := []byte(strings.Repeat("a body that packs well; ", 1000))
	noise := make([]byte, 10_000)
	for i, s := 0, uint32(1); i < len(noise); i++ {
		s = s*1664525 + 1013904223
		noise[i] = byte(s >> 24)
	}
	return []*Exchange{
		{Connection: 1, Protocol: "HTTP/2.0", Upstream: "HTTP/1.1", Began: 3, Method: "GET",
			URL: "https://a.example/?q=%C3%A4", Header: Fields{{"Host", "a.example"}, {"Accept", "*/*"}},
			Status: 200, ResponseHeader: Fields{{"X-One", "1"}, {"set-cookie", "a=1"}, {"Set-Cookie", "b=2"},
				{"Content-Type", "text/html"}}, HeaderOrder: true,
			ResponseBody: newBody(long), Trailer: Fields{{"X-End", "e"}}, Think: 5 * time.Millisecond,
			RoundTrip: time.Millisecond,
			Chunks:    []Chunk{{4000, 0}, {int64(len(long)) - 4000, 7 * time.Millisecond}},
			Ended:     8 * time.Millisecond},
		{Began: 4, Method: "POST", URL: "http://b.example:8080/form", Header: Fields{{"Host", "b.example:8080"}},
			Body: newBody([]byte("x=1")), Status: 204, ResponseHeader: Fields{}},
		{Began: 5, Method: "GET", URL: "https://a.example/again", Header: Fields{}, Status: 200,
			ResponseHeader: Fields{}, ResponseBody: newBody(long)},
		{Began: 6, Method: "GET", URL: "https://a.example/noise", Header: Fields{}, Status: 200,
			ResponseHeader: Fields{}, ResponseBody: newBody(noise)},
		{Began: 7, Method: "GET", URL: "https://c.example/", Header: Fields{}, ResponseHeader: Fields{},
			Trailer: Fields{}, Error: "c.example does not answer", Insecure: "expired"},
		{Began: 8, Method: "GET", URL: "https://a.example/ws", Header: Fields{}, Status: 101, ResponseHeader: Fields{},
			Missing: notWebSocket},
	}
}

func written(t testing.TB, all []*Exchange, end bool) []byte {
	t.Helper()
	f := &file{}
	w, err := NewWriter(f, Info{Writer: "test", Created: created, Seed: 7}, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := w.write(e); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f.Bytes()
}

func readBack(b []byte) (*Archive, error) {
	return readArchive(bytes.NewReader(b), int64(len(b)), DefaultLimits())
}

// same holds exchanges against each other, whatever lists are nil.
func same(t *testing.T, got, want *Exchange) {
	t.Helper()
	g, w := *got, *want
	for _, e := range []*Exchange{&g, &w} {
		for _, f := range []*Fields{&e.Header, &e.ResponseHeader, &e.Trailer} {
			if len(*f) == 0 {
				*f = nil
			}
		}
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s: read\n%.600v\nwant\n%.600v", want.URL, fmt.Sprintf("%+v", g), fmt.Sprintf("%+v", w))
	}
}

func TestArchiveIsReadBack(t *testing.T) {
	all := samples()
	b := written(t, all, true)
	a, err := readBack(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Notes) > 0 || len(a.Exchanges) != len(all) || a.Info != (Info{Writer: "test", Created: created, Seed: 7}) {
		t.Fatalf("%d exchanges, %q, %+v", len(a.Exchanges), a.Notes, a.Info)
	}
	for i := range all {
		same(t, a.Exchanges[i], all[i])
	}
	// Equal bodies are stored once, and other programs can read the file.
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, f := range z.File {
		names[f.Name]++
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if len(names) != 1+3+len(all) || names["archive.json"] != 1 || names["exchanges/000003.json"] != 1 {
		t.Errorf("its entries are %v", names)
	}
}

// TestArchiveCutAnywhere: exchanges before a cut are read, and a note reports the cut.
func TestArchiveCutAnywhere(t *testing.T) {
	all := samples()
	whole := written(t, all, false)
	end := written(t, all, true)
	begins := len(written(t, nil, false))
	last := 0
	for n := range len(end) {
		if n > 600 && n%29 != 0 && n < len(whole)-600 { // some, and all near the ends
			continue
		}
		a, err := readBack(end[:n])
		if n < begins {
			if err == nil {
				t.Fatalf("%d bytes of a beginning of %d are an archive", n, begins)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(end), err)
		}
		for i, e := range a.Exchanges {
			same(t, e, all[i])
		}
		if n < len(whole)+4 && len(a.Notes) != 1 {
			t.Fatalf("cut after %d of %d bytes: %d exchanges, and it says %q", n, len(whole), len(a.Exchanges), a.Notes)
		}
		if len(a.Exchanges) < last {
			t.Fatalf("cut after %d bytes: %d exchanges, and %d after fewer", n, len(a.Exchanges), last)
		}
		last = len(a.Exchanges)
	}
	if last != len(all) {
		t.Errorf("%d of %d exchanges before the end", last, len(all))
	}
}

// TestArchiveDamaged: damage is reported, or the content is unchanged.
func TestArchiveDamaged(t *testing.T) {
	all := samples()
	b := written(t, all, true)
	for n := 0; n < len(b); n += 37 {
		broken := bytes.Clone(b)
		broken[n] ^= 1 << (n % 8)
		a, err := readBack(broken)
		if err != nil {
			continue
		}
		if len(a.Exchanges) < len(all) && len(a.Notes) == 0 {
			t.Errorf("byte %d flipped: %d exchanges, and nothing is said", n, len(a.Exchanges))
		}
		for _, e := range a.Exchanges {
			if e.Number < 1 || e.Number > len(all) {
				t.Fatalf("byte %d flipped: exchange %d", n, e.Number)
			}
			same(t, e, all[e.Number-1])
		}
	}
}

// raw is an entry as others may write it.
func raw(name string, method uint16, packed []byte, size, sum uint32) []byte {
	h := make([]byte, headBytes)
	binary.LittleEndian.PutUint32(h, entryMagic)
	binary.LittleEndian.PutUint16(h[8:], method)
	binary.LittleEndian.PutUint32(h[14:], sum)
	binary.LittleEndian.PutUint32(h[18:], uint32(len(packed)))
	binary.LittleEndian.PutUint32(h[22:], size)
	binary.LittleEndian.PutUint16(h[26:], uint16(len(name)))
	return append(append(h, name...), packed...)
}

func stored(name, text string) []byte {
	b := &bytes.Buffer{}
	w := &Writer{zip: zip.NewWriter(b)}
	if err := w.entry(name, []byte(text), created); err != nil {
		panic(err)
	}
	_ = w.zip.Flush()
	return b.Bytes()
}

func TestArchivesRefused(t *testing.T) {
	begin := written(t, nil, false)
	exchange := func(text string) []byte { return append(bytes.Clone(begin), stored("exchanges/000001.json", text)...) }
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, tc := range map[string]struct {
		file []byte
		want string // of the error
	}{
		"another zip":     {stored("readme.txt", "hello"), "not a site archive"},
		"another version": {stored("archive.json", `{"format":"eideticker replay","version":2}`), "version 2"},
		"nothing":         {nil, "end is missing"},
		"a bomb": {
			append(bytes.Clone(begin), raw("bodies/"+long(64), 8, deflated(make([]byte, 1<<20)), 1<<26, 0)...),
			"what cannot be"},
		"a larger bomb": {
			append(bytes.Clone(begin), raw("bodies/"+long(64), 8, deflated(make([]byte, 1<<20)), 1<<31, 0)...),
			"larger than one may be"},
		"a packed void": {append(bytes.Clone(begin), raw("bodies/"+long(64), 8, make([]byte, 1<<20), 10, 0)...),
			"what cannot be"},
		"a long name": {append(bytes.Clone(begin), raw(long(300), 0, nil, 0, 0)...), "a name of 300 bytes"},
		"a path out":  {append(bytes.Clone(begin), stored("bodies/../../etc/passwd", "x")...), "not SHA-256"},
		"a body by another": {append(bytes.Clone(begin), stored("bodies/"+strings.Repeat("0", 64), "x")...),
			"not what its name says"},
		"upper case": {append(bytes.Clone(begin), stored("bodies/"+strings.Repeat("A", 64), "x")...),
			"not SHA-256"},
		"no JSON":    {exchange("{"), "unexpected EOF"},
		"two in one": {exchange(`{"number":1,"method":"GET","url":"http://a/"} {}`), "follows its JSON"},
		"a number":   {exchange(`{"number":2,"method":"GET","url":"http://a/"}`), "number is not"},
		"no body": {exchange(`{"number":1,"method":"GET","url":"http://a/","response_body":{"sha256":"` +
			strings.Repeat("0", 64) + `","bytes":5}}`), "body is not there"},
		"no URL": {exchange(`{"number":1,"method":"GET","url":"file:///etc/passwd"}`),
			"not a URL of a site"},
		"a password": {exchange(`{"number":1,"method":"GET","url":"http://me:secret@a/"}`),
			"not a URL of a site"},
		"a method": {exchange(`{"number":1,"method":"GET /","url":"http://a/"}`), "invalid method"},
		"a status": {exchange(`{"number":1,"method":"GET","url":"http://a/","status":9999}`), "not a status"},
		"a split response": {
			exchange(`{"number":1,"method":"GET","url":"http://a/","status":200,` +
				`"response_header":[["X","a\r\nSet-Cookie: b"]]}`), "characters that none may have"},
		"a split name": {
			exchange(`{"number":1,"method":"GET","url":"http://a/","status":200,` +
				`"response_header":[["X: y\r\nZ","a"]]}`), "not a name of a header"},
		"an absurd header": {exchange(`{"number":1,"method":"GET","url":"http://a/","response_header":[["X","` +
			long(300<<10) + `"]]}`), "longer than"},
		"too many fields": {exchange(`{"number":1,"method":"GET","url":"http://a/","response_header":[` +
			strings.TrimSuffix(strings.Repeat(`["X","y"],`, 1001), ",") + `]}`), "has more than 1000"},
		"a time before": {exchange(`{"number":1,"method":"GET","url":"http://a/","think_ns":-5}`),
			"is not between"},
		"a time for ever": {
			exchange(`{"number":1,"method":"GET","url":"http://a/","think_ns":9223372036854775807}`), "is not between"},
		"chunks of nothing": {exchange(`{"number":1,"method":"GET","url":"http://a/","chunks":[[5,0]]}`),
			"do not add up"},
		"sizes behind entries": {streamed(t), "packed again"},
	} {
		_, err := readBack(tc.file)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// streamed is a zip as programs write it that do not know sizes before.
func streamed(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("archive.json")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"format":"eideticker replay","version":1}`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriterEndsWithTheDisk: after a failed write, the writer stops, and the file is an archive of
// the exchanges before.
func TestWriterEndsWithTheDisk(t *testing.T) {
	all := samples()
	whole := len(written(t, all, false))
	f := &file{room: whole / 2}
	w, err := NewWriter(f, Info{Created: created}, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, e := range all {
		if err = w.write(e); err != nil {
			break
		}
		kept++
	}
	f.room = 0 // too late: the last entry is incomplete
	if err == nil || kept == 0 || w.write(all[0]) == nil || w.Close() == nil {
		t.Fatalf("%d exchanges kept on a full disk: %v", kept, err)
	}
	a, err := readBack(f.Bytes())
	if err != nil || len(a.Exchanges) != kept || len(a.Notes) != 1 {
		t.Errorf("%v of %d exchanges read: %v", a, kept, err)
	}
}

func TestWriterIsBounded(t *testing.T) {
	l := DefaultLimits()
	l.Total, l.Exchanges = 10, 3
	w, err := NewWriter(&file{}, Info{Created: created}, l)
	if err != nil {
		t.Fatal(err)
	}
	put := func(body string) error {
		return w.write(&Exchange{Method: "GET", URL: "http://a/", Status: 200, ResponseBody: newBody([]byte(body))})
	}
	for i, err := range []error{put("123456"), put("abcdefg"), put("123456"), put("1"), put("")} {
		if full := i == 1 || i == 4; errors.Is(err, errFull) != full {
			t.Errorf("exchange %d: %v", i, err)
		}
	}
}

// TestTextsAreBounded: bodies are not all that makes an archive large.
func TestTextsAreBounded(t *testing.T) {
	put := func(l Limits) ([]byte, error) {
		f := &file{}
		w, err := NewWriter(f, Info{Created: created}, l)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := w.write(one("GET", "http://a/", 200, "", "X", strings.Repeat("x", 1000))); err != nil {
				return f.Bytes(), err
			}
		}
		return f.Bytes(), w.Close()
	}
	small := DefaultLimits()
	small.Texts = 3000
	if b, err := put(small); !errors.Is(err, errFull) {
		t.Errorf("%d bytes written: %v", len(b), err)
	}
	b, err := put(DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readArchive(bytes.NewReader(b), int64(len(b)), small); err == nil ||
		!strings.Contains(err.Error(), "without their bodies") {
		t.Errorf("read: %v", err)
	}
	f := fromPairs([]har.Pair{{Name: "a", Value: strings.Repeat("\n", 5000)}}, DefaultLimits())
	if len(f) != DefaultLimits().Fields+1 {
		t.Errorf("%d fields of one pair", len(f))
	}
}

// TestBytesThatAreNoText: JSON would have others in their place, and nobody would know.
func TestBytesThatAreNoText(t *testing.T) {
	all := []*Exchange{one("GET", "http://a/1", 200, "x", "Content-Disposition", "filename=\xe4"),
		one("GET", "http://a/?q=\xe4", 200, "x"), one("GET", "http://a/2", 200, "x", ">Referer", "\xe4")}
	a, err := readBack(written(t, all, true))
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range []string{"its header field Content-Disposition has bytes that are not UTF-8",
		"its URL has bytes that are not UTF-8", ""} {
		if e := a.Exchanges[i]; e.Missing != all[i].Missing || what == "" && e.Missing != "" ||
			!strings.HasPrefix(e.Missing, what) {
			t.Errorf("%s: %q, want %q", e.URL, e.Missing, what)
		}
	}
}

func TestOpenKnowsKinds(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text []byte
		want string
	}{
		"site.zip":  {written(t, samples(), true), ""},
		"site.har":  {[]byte(`{"log":{"version":"1.2","creator":{"name":"a","version":"1"},"entries":[]}}`), ""},
		"site.html": {[]byte("<html>"), "neither"},
		"empty":     {nil, "neither"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, DefaultLimits())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Open(dir, DefaultLimits()); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("a folder: %v", err)
	}
}

// FuzzExchange is given the text of an exchange, in an archive whose checksums are right: else
// nothing would come of it.
func FuzzExchange(f *testing.F) {
	for _, e := range samples() {
		e.ResponseBody, e.Number, e.Chunks = Body{}, 1, nil
		text, err := json.Marshal(e.wire())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	const body = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	f.Add(`{"number":1,"method":"GET","url":"http://a/","status":200,"response_body":{"sha256":"` + body +
		`","bytes":3},"chunks":[[1,0],[2,5]]}`)
	begin := append(written(f, nil, false), stored("bodies/"+body, "foo")...)
	f.Fuzz(func(t *testing.T, text string) {
		b := append(bytes.Clone(begin), stored("exchanges/000001.json", text)...)
		if a, err := readArchive(bytes.NewReader(b), int64(len(b)), fuzzLimits()); err == nil {
			if len(a.Exchanges) != 1 {
				t.Fatal("no exchange, and no error")
			}
			usable(t, a, fuzzLimits())
		}
	})
}

func FuzzReadArchive(f *testing.F) {
	whole := written(f, []*Exchange{one("GET", "http://a.test/", 200, "hello", "X", "y"),
		one("GET", "http://a.test/b", 200, strings.Repeat("z", 100))}, true)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(written(f, nil, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := readArchive(bytes.NewReader(b), int64(len(b)), fuzzLimits()); err == nil {
			usable(t, a, fuzzLimits())
		}
	})
}
