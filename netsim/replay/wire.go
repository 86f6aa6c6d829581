package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The forms of ARCHIVE.md, in JSON.

const (
	formatName    = "eideticker replay"
	formatVersion = 1
)

type infoWire struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Writer  string    `json:"writer,omitempty"`
	Created time.Time `json:"created"`
	Clock   time.Time `json:"clock,omitzero"`
	Seed    uint64    `json:"seed,omitempty"`
}

type exchangeWire struct {
	Number         int         `json:"number"`
	Connection     int         `json:"connection,omitempty"`
	Protocol       string      `json:"protocol,omitempty"`
	Upstream       string      `json:"upstream,omitempty"`
	Began          int64       `json:"began_ns"`
	Method         string      `json:"method"`
	URL            string      `json:"url"`
	Header         [][2]string `json:"request_header"`
	Body           *bodyWire   `json:"request_body,omitempty"`
	Status         int         `json:"status,omitempty"`
	ResponseHeader [][2]string `json:"response_header,omitempty"`
	HeaderOrder    bool        `json:"response_header_as_sent,omitempty"`
	ResponseBody   *bodyWire   `json:"response_body,omitempty"`
	Trailer        [][2]string `json:"trailer,omitempty"`
	Think          int64       `json:"think_ns,omitempty"`
	RoundTrip      int64       `json:"round_trip_ns,omitempty"`
	Chunks         [][2]int64  `json:"chunks,omitempty"` // bytes, ns since the first byte
	Ended          int64       `json:"ended_ns,omitempty"`
	Insecure       string      `json:"insecure,omitempty"`
	Missing        string      `json:"missing,omitempty"`
	Error          string      `json:"error,omitempty"`
}

type bodyWire struct {
	Sum   string `json:"sha256"`
	Bytes int64  `json:"bytes"`
}

func wireFields(f Fields) [][2]string {
	all := make([][2]string, len(f))
	for i, h := range f {
		all[i] = [2]string{h.Name, h.Value}
	}
	return all
}

func unwireFields(all [][2]string) Fields {
	f := make(Fields, len(all))
	for i, h := range all {
		f[i] = Field{h[0], h[1]}
	}
	return f
}

func wireBody(b *Body) *bodyWire {
	if b.Size == 0 {
		return nil
	}
	return &bodyWire{hex.EncodeToString(b.Sum[:]), b.Size}
}

func (e *Exchange) wire() exchangeWire {
	w := exchangeWire{Number: e.Number, Connection: e.Connection, Protocol: e.Protocol, Upstream: e.Upstream,
		Began: int64(e.Began), Method: e.Method, URL: e.URL,
		Header: wireFields(e.Header), Body: wireBody(&e.Body), Status: e.Status,
		ResponseHeader: wireFields(e.ResponseHeader), HeaderOrder: e.HeaderOrder,
		ResponseBody: wireBody(&e.ResponseBody), Trailer: wireFields(e.Trailer), Think: int64(e.Think),
		RoundTrip: int64(e.RoundTrip), Ended: int64(e.Ended),
		Insecure: e.Insecure, Missing: e.Missing, Error: e.Error}
	for _, c := range e.Chunks {
		w.Chunks = append(w.Chunks, [2]int64{c.Bytes, int64(c.After)})
	}
	return w
}

// exchange decodes the form. bodies maps hashes to bodies.
func (w *exchangeWire) exchange(l Limits, bodies map[[sha256.Size]byte]Body) (*Exchange, error) {
	e := &Exchange{Number: w.Number, Connection: w.Connection, Protocol: sentence(w.Protocol),
		Upstream: sentence(w.Upstream), Began: time.Duration(w.Began), Method: w.Method, URL: w.URL,
		Header: unwireFields(w.Header), Status: w.Status, ResponseHeader: unwireFields(w.ResponseHeader),
		HeaderOrder: w.HeaderOrder, Trailer: unwireFields(w.Trailer),
		Think: time.Duration(w.Think), RoundTrip: time.Duration(w.RoundTrip), Ended: time.Duration(w.Ended),
		Insecure: sentence(w.Insecure), Missing: sentence(w.Missing), Error: sentence(w.Error)}
	if len(w.Chunks) > l.Chunks {
		return nil, fmt.Errorf("%d chunks are more than %d", len(w.Chunks), l.Chunks)
	}
	for _, c := range w.Chunks {
		e.Chunks = append(e.Chunks, Chunk{c[0], time.Duration(c[1])})
	}
	for _, b := range []struct {
		from *bodyWire
		to   *Body
	}{{w.Body, &e.Body}, {w.ResponseBody, &e.ResponseBody}} {
		if b.from == nil {
			continue
		}
		sum, err := parseSum(b.from.Sum)
		if err != nil {
			return nil, err
		}
		body, ok := bodies[sum]
		if !ok || body.Size != b.from.Bytes {
			return nil, errNoBody
		}
		*b.to = body
	}
	return e, e.check(l)
}

// strictly reads one JSON value and nothing behind it. Fields that are not known are of later
// versions of the same format, which only adds.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON")
	}
	return nil
}
