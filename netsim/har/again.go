package har

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/serve"
)

// maxOwnBytes bounds a file that is read again: what a [Waterfall] writes holds no bodies.
const maxOwnBytes = 64 << 20

// ReadWaterfall reads the requests of a file that a [Waterfall] has written, to draw and list them
// again. The file is untrusted, as in [Read]. Only the drawn fields are kept. While the file is
// read, memory holds one complete value at a time, also one that is not drawn. So maxOwnBytes
// bounds memory. Files of other programs have no times on a recording's clock, and are rejected.
func ReadWaterfall(from io.Reader) (*Waterfall, error) { return readWaterfall(from, maxOwnBytes) }

func readWaterfall(from io.Reader, most int64) (*Waterfall, error) {
	limited := &io.LimitedReader{R: from, N: most + 1}
	r := waterfallReader{Decoder: json.NewDecoder(limited)}
	err := r.file()
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("%w: over %d MiB", errFile, most>>20)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	return &r.fall, nil
}

// waterfallReader goes through a file from its beginning to its end.
type waterfallReader struct {
	*json.Decoder
	fall  Waterfall
	known bool // a time of a request
}

// passed is a value that is not looked at.
type passed struct{}

func (*passed) UnmarshalJSON([]byte) error { return nil }

func (r *waterfallReader) file() error {
	version, logs, entries := "", 0, 0
	err := r.object(func(key string) error {
		if key != "log" {
			return r.Decode(&passed{})
		}
		logs++
		return r.object(func(key string) error {
			switch key {
			case "version":
				return r.Decode(&version)
			case "entries":
				entries++
				return r.entries()
			case "_recording":
				return r.Decode(&r.fall.Recording)
			}
			return r.Decode(&passed{})
		})
	})
	if err != nil {
		return err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind its end")
	}
	switch {
	case logs != 1 || entries != 1:
		return fmt.Errorf("it has %d logs with %d lists of entries, want one of one", logs, entries)
	case version != "1.2":
		return fmt.Errorf("log.version is %.20q, want 1.2", version)
	case len(r.fall.Requests) > 0 && !r.known:
		return errors.New("its entries have no times on a recording's clock: no run has written it")
	}
	return nil
}

// object goes through the fields of the next value.
func (r *waterfallReader) object(field func(key string) error) error {
	if err := r.opens('{'); err != nil {
		return err
	}
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // it is one, or the decoder says so
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := r.Token()
	return err
}

func (r *waterfallReader) opens(want json.Delim) error {
	at := r.InputOffset()
	t, err := r.Token()
	if err == nil && t != want {
		err = fmt.Errorf("%.20q at byte %d, want %s", fmt.Sprint(t), at, want)
	}
	return err
}

func (r *waterfallReader) entries() error {
	if err := r.opens('['); err != nil {
		return err
	}
	for i := 0; r.More(); i++ {
		if i == maxEntries {
			return fmt.Errorf("over %d entries", maxEntries)
		}
		var e drawnEntry
		if err := r.Decode(&e); err != nil {
			return fmt.Errorf("entries[%d]: %w", i, err)
		}
		request, err := e.request()
		if err != nil {
			return fmt.Errorf("entries[%d]: %w", i, err)
		}
		b := request.Begins()
		r.known = r.known || b.Known()
		r.fall.Requests = append(r.fall.Requests, request)
	}
	_, err := r.Token()
	return err
}

// drawnEntry has the drawn fields of an [Entry].
type drawnEntry struct {
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		Status   int   `json:"status"`
		BodySize int64 `json:"bodySize"`
		Content  struct {
			Size int64 `json:"size"`
		} `json:"content"`
	} `json:"response"`
	Timings struct {
		Send float64 `json:"send"`
	} `json:"timings"`
	Connection string  `json:"connection"`
	Priority   string  `json:"_priority"`
	Protocol   string  `json:"_protocol"`
	TLS        string  `json:"_tls"`
	Reused     bool    `json:"_connectionReused"`
	Moments    Moments `json:"_moments"`
	WireBytes  *int64  `json:"_wireBytes"`
	Error      string  `json:"_error"`
	Client     string  `json:"_client"`
	Server     string  `json:"_server"`
	From       int64   `json:"_from"`
	To         int64   `json:"_to"`
}

// maxWord bounds the names of protocols and priorities, bytes.
const maxWord = 40

// request is the one that the entry was written of.
func (e *drawnEntry) request() (r Request, err error) {
	if !token(e.Request.Method) || len(e.Request.Method) > maxWord {
		return r, fmt.Errorf("method is %.40q", e.Request.Method)
	}
	for _, word := range []string{e.Connection, e.Priority, e.Protocol, e.TLS} {
		if len(word) > maxWord {
			return r, fmt.Errorf("%.40q… has %d bytes, at most %d are read", word, len(word), maxWord)
		}
	}
	switch {
	case len(e.Request.URL) > maxURL:
		return r, fmt.Errorf("url of %d bytes, at most %d are read", len(e.Request.URL), maxURL)
	case len(e.Error) > maxField:
		return r, fmt.Errorf("_error of %d bytes, at most %d are read", len(e.Error), maxField)
	case e.Response.Status < 0 || e.Response.Status > 999:
		return r, fmt.Errorf("status is %d", e.Response.Status)
	}
	r.WireBytes = -1
	if e.WireBytes != nil {
		r.WireBytes = *e.WireBytes
	}
	if err := sizes(r.WireBytes, e.Response.BodySize, e.Response.Content.Size); err != nil {
		return r, err
	}
	r.Served = serve.Exchange{Method: e.Request.Method, URL: e.Request.URL, Status: e.Response.Status,
		ResponseBytes: e.Response.BodySize, DecodedBytes: e.Response.Content.Size, Error: e.Error}
	r.Served.Urgency, r.Served.Incremental = prioritized(e.Priority)
	r.Over.Protocol, r.Over.TLS, r.Reused = e.Protocol, e.TLS, e.Reused
	if id, err := strconv.Atoi(e.Connection); err == nil && id > 0 { // else it is unknown
		r.Over.ID = id
	}
	client, errClient := netip.ParseAddrPort(e.Client)
	server, errServer := netip.ParseAddrPort(e.Server)
	if errClient == nil && errServer == nil { // else they are unknown
		r.Over.Client, r.Over.Server, r.Over.Network = client, server, "tcp"
		if e.Protocol == "h3" {
			r.Over.Network = "udp"
		}
	}
	if e.From >= 0 && e.To >= e.From {
		r.Served.From, r.Served.To = e.From, e.To
	}
	if err := times(e.Timings.Send); err != nil {
		return r, err
	}
	m := &e.Moments
	for _, one := range []struct {
		to   *Moment
		from Instant
	}{
		{&r.Name.From, m.NameFrom}, {&r.Name.To, m.NameTo}, {&r.Connect.From, m.ConnectFrom},
		{&r.Connect.To, m.ConnectTo},
		{&r.TLS.From, m.TLSFrom}, {&r.TLS.To, m.TLSTo}, {&r.Sent, m.Sent}, {&r.FirstByte, m.FirstByte},
		{&r.Ended, m.Ended},
	} {
		if *one.to, err = one.from.moment(); err != nil {
			return r, err
		}
	}
	if send := time.Duration(math.Round(e.Timings.Send * 1e6)); send > 0 && r.Sent.Known() {
		r.Served.Began = r.Sent.At // the server's clock is not in the file, only the difference
		r.Served.Received = r.Sent.At.Add(send)
	}
	return r, nil
}

// moment is the one that the instant was written of.
func (i Instant) moment() (m Moment, err error) {
	if i == (Instant{}) {
		return m, nil
	}
	const most = math.MaxInt64 / 4 // so that differences are times too
	m = Moment{At: timeline.Time(i.At), Earliest: timeline.Time(i.Earliest), By: i.By}
	latest := m.At
	if i.Latest != nil {
		m.Latest = timeline.Time(*i.Latest)
		latest = m.Latest
	}
	if i.By != Line && i.By != Server || m.Earliest < 0 || m.Earliest > m.At || m.At > latest || latest > most {
		return m, fmt.Errorf("a moment at %d, from %d to %d, by %.20q", i.At, i.Earliest, latest, i.By)
	}
	return m, nil
}

// prioritized is what [priority] was made of; what it does not make is taken for what a request has
// that says nothing.
func prioritized(text string) (urgency int, incremental bool) {
	text, incremental = strings.CutSuffix(text, ", i")
	if len(text) == 3 && strings.HasPrefix(text, "u=") && text[2] >= '0' && text[2] <= '7' {
		return int(text[2] - '0'), incremental
	}
	return 3, incremental
}
