package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// wprRequest is what Web Page Replay keeps of one exchange: both messages as net/http writes them,
// with the framing of HTTP/1.1. The response's first line has the protocol of the site.
type wprRequest struct {
	SerializedRequest  []byte
	SerializedResponse []byte
	WebSocketMessages  json.RawMessage
}

// ImportWPR reads an archive of Web Page Replay, Chromium's recorder (catapult,
// web_page_replay_go). It is JSON, packed by gzip. Requests maps a host to a map of URLs, and a URL
// to its answers. It has no times and no order. So exchanges are in the order of the file, and have
// no delay.
func ImportWPR(r io.Reader, l Limits) (*Archive, error) {
	a := &Archive{Info: Info{Writer: "Web Page Replay"}}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("as an archive of Web Page Replay: %w", err)
	}
	bounded := &budgetReader{r: z, all: 2*l.Total + 1<<20} // bytes in base64
	d := json.NewDecoder(bounded)
	pool := newPool(l)
	found := false
	err = walk(d, bounded, l, func(path []string) (bool, error) {
		switch {
		case len(path) == 1 && path[0] == "Requests":
			found = true
			return true, nil
		case len(path) == 2: // a host
			return true, nil
		case len(path) == 3: // a URL
			return false, elements(d, bounded, l, func(int) error {
				var one wprRequest
				if err := d.Decode(&one); err != nil {
					return err
				}
				return a.addWPR(path[2], &one, pool, l)
			})
		case path[0] == "DeterministicTimeSeedMs":
			var ms int64
			err := d.Decode(&ms)
			if ms > 0 && ms < 1<<50 {
				a.Info.Clock = time.UnixMilli(ms).UTC()
				a.Info.Created = a.Info.Clock
			}
			return false, err
		case path[0] == "InjectedScripts":
			var scripts map[string]json.RawMessage
			err := d.Decode(&scripts)
			if len(scripts) > 0 { // newer recorders write the field in any case
				a.note("scripts of the archive's own, which its pages were given, are left out")
			}
			return false, err
		}
		return false, skip(d)
	})
	if err == nil && !found {
		err = errors.New("it has no requests")
	}
	if err != nil {
		return nil, fmt.Errorf("as an archive of Web Page Replay: %w", err)
	}
	return a, nil
}

// addWPR takes one request of a URL; one that cannot be used is a note.
func (a *Archive) addWPR(address string, w *wprRequest, p *pool, l Limits) error {
	if len(a.Exchanges) == l.Exchanges {
		return fmt.Errorf("there are more than %d requests", l.Exchanges)
	}
	address, _, _ = strings.Cut(address, "#")
	e := &Exchange{URL: address}
	err := e.wprMessages(w, p, l)
	if err == nil {
		err = e.check(l)
	}
	if err != nil {
		a.note("a request of %s is left out: %v", address, err)
		return nil
	}
	e.Number = len(a.Exchanges) + 1
	a.Exchanges = append(a.Exchanges, e)
	return nil
}

func (e *Exchange) wprMessages(w *wprRequest, p *pool, l Limits) error {
	if head := int64(4 * (l.Header + l.URL)); int64(len(w.SerializedRequest)) > head+maxRequestBody ||
		int64(len(w.SerializedResponse)) > 2*l.Body+head {
		return errors.New("it is larger than may be")
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(w.SerializedRequest)))
	if err != nil {
		return fmt.Errorf("its request: %w", err)
	}
	defer request.Body.Close()
	if _, err := url.Parse(e.URL); err != nil {
		return err
	}
	e.Method = request.Method // and not its protocol, which net/http writes as HTTP/1.1, whatever it was
	e.Header = append(Fields{{"Host", request.Host}}, sortedFields(request.Header)...)
	if e.Body, err = readBody(request.Body, maxRequestBody, p); err != nil {
		return fmt.Errorf("its request: %w", err)
	}
	if len(w.SerializedResponse) == 0 {
		e.Error = "the request failed when it was recorded"
		return nil
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(w.SerializedResponse)), request)
	if err != nil {
		return fmt.Errorf("its response: %w", err)
	}
	defer response.Body.Close()
	e.Status, e.Upstream, e.ResponseHeader = response.StatusCode, response.Proto, sortedFields(response.Header)
	switch {
	case len(w.WebSocketMessages) > 0 && string(w.WebSocketMessages) != "null":
		e.Missing = notWebSocket
		return nil
	case e.interim():
		e.Missing = e.notFinal()
		return nil
	}
	if e.ResponseBody, err = readBody(response.Body, l.Body, p); err != nil {
		return fmt.Errorf("its response: %w", err)
	}
	e.Trailer = sortedFields(response.Trailer)
	if e.ResponseBody.Size > 0 {
		e.Chunks = []Chunk{{e.ResponseBody.Size, 0}}
	}
	return nil
}

// notWebSocket is why a websocket is not replayed.
const notWebSocket = "a websocket: what its ends say to each other is not an answer to a request"

func readBody(r io.Reader, most int64, p *pool) (Body, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return Body{}, err
	}
	if int64(len(b)) > most {
		return Body{}, fmt.Errorf("a body is larger than %d bytes", most)
	}
	return p.take(b)
}
