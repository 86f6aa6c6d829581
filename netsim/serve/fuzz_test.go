package serve

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/eideticker/eideticker/capture/timeline"
)

// requests is a client's HTTP/2 data: a request in one frame, one in pieces with padding and a
// priority, one that is reset. It also has a body and trailers.
func requests(t testing.TB) []byte {
	t.Helper()
	var out, fields bytes.Buffer
	out.WriteString(preface)
	f := http2.NewFramer(&out, nil)
	encoder := hpack.NewEncoder(&fields)
	head := func(path string) []byte {
		fields.Reset()
		for _, v := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "page.test"},
			{":path", path}, {"accept", "*/*"}} {
			if err := encoder.WriteField(hpack.HeaderField{Name: v[0], Value: v[1]}); err != nil {
				t.Fatal(err)
			}
		}
		return bytes.Clone(fields.Bytes())
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.WriteSettings())
	must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head("/1"), EndStream: true,
		EndHeaders: true}))
	b := head("/3")
	must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: b[:3], PadLength: 9,
		Priority: http2.PriorityParam{Weight: 7}}))
	must(f.WriteContinuation(3, false, b[3:5]))
	must(f.WriteContinuation(3, true, b[5:]))
	must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: head("/5"), EndHeaders: true,
		PadLength: 200}))
	must(f.WriteData(5, false, []byte("body")))
	fields.Reset()
	must(encoder.WriteField(hpack.HeaderField{Name: "checksum", Value: "1"}))
	must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: fields.Bytes(), EndHeaders: true,
		EndStream: true}))
	must(f.WriteRSTStream(3, http2.ErrCodeCancel))
	return out.Bytes()
}

// read puts bytes through frames, a few at a time.
func readFrames(in []byte, most int) ([]byte, error) {
	s := &Server{clock: timeline.Monotonic()}
	f := &frames{secured: &secured{connection: &connection{s: s, streams: map[int64]*exchange{}}},
		in: bufio.NewReaderSize(bytes.NewReader(in), 64)}
	var out bytes.Buffer
	p := make([]byte, most)
	for range 1_000_000 {
		n, err := f.Read(p)
		out.Write(p[:n])
		if err != nil {
			return out.Bytes(), err
		}
	}
	return out.Bytes(), errors.New("it does not end")
}

// TestFramesAreMarked: each request has its number in it, trailers have not, and all else is as it
// was.
func TestFramesAreMarked(t *testing.T) {
	for _, most := range []int{1, 7, 100, 1 << 16} {
		out, err := readFrames(requests(t), most)
		if err != io.EOF {
			t.Fatal(err)
		}
		f := http2.NewFramer(io.Discard, bytes.NewReader(out[len(preface):]))
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		var got []string
		for {
			frame, err := f.ReadFrame()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text := frame.Header().Type.String()
			if m, ok := frame.(*http2.MetaHeadersFrame); ok {
				text += " " + m.PseudoValue("path")
				for _, v := range m.RegularFields() {
					if v.Name == streamField {
						r := &http.Request{Header: http.Header{http.CanonicalHeaderKey(streamField): {"forged",
							v.Value}}}
						stream, _ := streamOfHTTP2(r)
						text += " " + string(rune('0'+stream))
						if len(r.Header) > 0 {
							t.Error("the note stays in the request")
						}
					}
				}
			}
			got = append(got, text)
		}
		if s := strings.Join(got,
			", "); s != "SETTINGS, HEADERS /1 1, HEADERS /3 3, HEADERS /5 5, DATA, HEADERS , RST_STREAM" {
			t.Errorf("in pieces of %d: %s", most, s)
		}
	}
}

// FuzzFrames: whatever comes in goes on, with nothing but marks in between; and nothing of it is
// lost.
func FuzzFrames(f *testing.F) {
	f.Add(requests(f), 5)
	f.Add([]byte(preface), 1)
	f.Add([]byte(preface+"\xff\xff\xff\x01\x04\x00\x00\x00\x01"), 100)
	f.Add([]byte(preface+"\x00\x00\x01\x01\x0c\x00\x00\x00\x01\xff"), 100)
	f.Add([]byte(preface+"\x00\x00\x00\x01\x0c\x00\x00\x00\x01\x00\x00"), 3)
	f.Fuzz(func(t *testing.T, in []byte, most int) {
		out, err := readFrames(in, 1+int(uint(most)%1000))
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		if marks := (len(out) - len(in)) / len(streamField); len(out) < len(in) || marks > len(in)/frameHead+1 {
			t.Fatalf("%d bytes became %d", len(in), len(out))
		}
		// The output is parsed whole and piece by piece, with the same result.
		whole, pieces := map[uint32]int{}, map[uint32]int{}
		var a, b scanner
		a.scan(in, func(begin, end int, _, _ byte, stream uint32, _ bool) { whole[stream] += end - begin })
		for i := range in {
			b.scan(in[i:i+1], func(begin, end int, _, _ byte, stream uint32, _ bool) { pieces[stream] += end - begin })
		}
		for stream, n := range pieces {
			if whole[stream] < n {
				t.Fatalf("of stream %d, %d bytes were seen at once and %d in pieces", stream, whole[stream], n)
			}
		}
	})
}

// FuzzRequest: fields of requests, which come from anybody.
func FuzzRequest(f *testing.F) {
	f.Add("gzip;q=0.5, br", "u=1, i", "page.test:80", "/a*b", "/axb")
	f.Add("*;q=0, ;;;=,q=,", "u=8, i=?0;x, u=", "[::1]:443", "**", "")
	f.Fuzz(func(t *testing.T, accept, priorities, host, pattern, text string) {
		for _, e := range encodings() {
			if w := acceptable(accept, e.name); w < 0 || w > 1000 {
				t.Fatal(w)
			}
		}
		if u, _ := priority(http.Header{"Priority": {priorities}}); u < 0 || u > 7 {
			t.Fatal(u)
		}
		hostName(host)
		if len(pattern)*len(text) < 1<<20 && !matches(pattern, text) && pattern == text &&
			!strings.Contains(pattern, "*") {
			t.Fatal("a pattern is not itself")
		}
	})
}

func TestPriority(t *testing.T) {
	for field, want := range map[string]Exchange{
		"":            {Urgency: 3},
		"u=0":         {Urgency: 0},
		"u=5, i":      {Urgency: 5, Incremental: true},
		"i=?0, u=7;x": {Urgency: 7},
		"i=?1":        {Urgency: 3, Incremental: true},
		"u=8":         {Urgency: 3},
		"u=-1":        {Urgency: 3},
	} {
		if u, i := priority(http.Header{"Priority": {field}}); u != want.Urgency || i != want.Incremental {
			t.Errorf("%q: %d, %v", field, u, i)
		}
	}
}

// FuzzAuthority: a folder's file may be anything.
//
// Fault: The authority's key is readable by others, damaged, or about to expire
func FuzzAuthority(f *testing.F) {
	a, err := OpenAuthority(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(a.folder, authorityKeyFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "page.test")
	f.Add(a.PEM(), "..")
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"), "::1")
	leaf := a.leaf
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		a := &Authority{now: time.Now, leaf: leaf, leaves: map[string]*tls.Certificate{}}
		if a.parse("file", b) != nil {
			return
		}
		if c, err := a.Certificate(name); err == nil && c.Leaf.VerifyHostname(name) != nil &&
			!strings.HasSuffix(name, ".") && !strings.ContainsAny(name, ":_%") {
			t.Errorf("the certificate of %q is not of it", name)
		}
	})
}

// Fault: The authority's key is readable by others, damaged, or about to expire
func TestAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	a, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a.Fingerprint() != again.Fingerprint() || a.KeyHash() != again.KeyHash() || len(a.KeyHash()) != 44 ||
		len(a.Fingerprint()) != 95 {
		t.Errorf("%s and %s, %s", a.Fingerprint(), again.Fingerprint(), a.KeyHash())
	}
	if st, err := os.Stat(filepath.Join(dir, authorityKeyFile)); err != nil || secretShown(st) {
		t.Errorf("%v: others may read the key", err)
	}
	for _, name := range []string{"page.test", "PAGE.test", "192.0.2.1", "2001:db8::1", "a_b.test"} {
		c, err := a.Certificate(name)
		if err != nil {
			t.Fatal(err)
		}
		if age := a.now().Sub(c.Leaf.NotBefore); age < clocksDiffer {
			t.Errorf("valid for %v only", age)
		}
		if again, _ := a.Certificate(strings.ToLower(name)); again != c {
			t.Errorf("%s: made twice", name)
		}
	}
	for _, name := range []string{"", ".", "a..b", "-a.test", "a b", strings.Repeat("a", 64) + ".test",
		strings.Repeat("a.", 140) + "b", "*.test"} {
		if _, err := a.Certificate(name); err == nil {
			t.Errorf("%q has a certificate", name)
		}
	}
	for range maxLeaves + 10 {
		a.leaves[strings.Repeat("x", len(a.leaves)+1)] = &tls.Certificate{}
		if len(a.leaves) >= maxLeaves {
			break
		}
	}
	if _, err := a.Certificate("one.more"); err != nil || len(a.leaves) > maxLeaves {
		t.Errorf("%v, %d are kept", err, len(a.leaves))
	}
	if err := os.Chmod(filepath.Join(dir, authorityKeyFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(dir); err == nil || !strings.Contains(err.Error(), "is readable by others") {
		t.Errorf("a key that all can read: %v", err)
	}
}
