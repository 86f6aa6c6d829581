package export

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
)

// Requests are slices of a second process, the network. Each connection has a track, or several
// where its requests overlap. A request is a slice, and its parts are slices within.
const (
	networkPID      = 2
	firstRequestTID = 1 << 20 // behind the tracks of events
	maxRequestName  = 100     // characters
)

// requestTrack is a track of requests that do not overlap.
type requestTrack struct {
	name     string
	end      timeline.Time
	requests []tracedRequest
}

// tracedRequest is a request with a known time.
type tracedRequest struct {
	*har.Request
	from, to timeline.Time
	parts    []har.Part
}

type requestArgs struct {
	Method     string `json:"method"`
	URL        string `json:"url"`
	Status     int    `json:"status"` // 0: no answer
	Protocol   string `json:"protocol"`
	Connection int    `json:"connection"` // 0 unknown
	Reused     bool   `json:"reused"`
	Bytes      int64  `json:"body_bytes"`
	Exact      bool   `json:"exact"` // packets told when the response began and ended
	Error      string `json:"error,omitempty"`
}

// readRequests reads the requests that overlap a time, in tracks.
func (t *traceWriter) readRequests(from, to timeline.Time) error {
	if t.Network == "" || t.NoEvents {
		return nil
	}
	file, err := os.Open(t.Network)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	fall, err := har.ReadWaterfall(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Network, err)
	}
	if id := fmt.Sprintf("%x", t.Reader.Info().ID); fall.Recording != "" && string(fall.Recording) != id {
		return fmt.Errorf("read %s: it is of another recording; export the recording.eid instead", t.Network)
	}
	t.tracks = requestTracks(fall, from, to)
	return nil
}

// requestTracks shares requests among tracks, in the order in which connections begin.
func requestTracks(fall *har.Waterfall, from, to timeline.Time) (all []*requestTrack) {
	type connection struct {
		id   int
		host string // where the id is unknown
	}
	var order []connection
	of := map[connection][]*requestTrack{}
	var requests []tracedRequest
	for i := range fall.Requests {
		r := tracedRequest{Request: &fall.Requests[i]}
		begin := r.Begins()
		r.from, r.to, r.parts = begin.At, begin.At, r.Parts()
		if n := len(r.parts); n > 0 {
			r.to = r.parts[n-1].To
		}
		if begin.Known() && r.from < to && r.to >= from {
			requests = append(requests, r)
		}
	}
	slices.SortStableFunc(requests, func(a, b tracedRequest) int { return cmp.Compare(a.from, b.from) })
	for _, r := range requests {
		host, _ := hostAndRest(r.Served.URL)
		c := connection{id: r.Over.ID}
		name := strings.TrimSpace(host + " " + r.Over.Protocol)
		if c.id > 0 {
			name = fmt.Sprintf("%s, connection %d", name, c.id)
		} else {
			c.host = name
		}
		if of[c] == nil {
			order = append(order, c)
		}
		i := slices.IndexFunc(of[c], func(row *requestTrack) bool { return row.end <= r.from })
		if i < 0 {
			if i = len(of[c]); i > 0 {
				name = fmt.Sprintf("%s (%d)", of[c][0].name, i+1)
			}
			of[c] = append(of[c], &requestTrack{name: name})
		}
		row := of[c][i]
		row.end = max(r.to, r.from+1) // so that two slices without duration do not share a place
		row.requests = append(row.requests, r)
	}
	for _, c := range order {
		all = append(all, of[c]...)
	}
	return all
}

// requests writes the requests with their parts.
func (t *traceWriter) requests() error {
	if len(t.tracks) == 0 {
		return nil
	}
	err := t.put(traceEvent{Phase: "M", Name: "process_name", PID: networkPID, Args: nameArgs{"network"}})
	if err != nil {
		return err
	}
	for i, track := range t.tracks {
		tid := firstRequestTID + i
		if err := t.track(networkPID, tid, track.name); err != nil {
			return err
		}
		for _, r := range track.requests {
			t.requestCount++
			if err := t.request(tid, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *traceWriter) request(tid int, r tracedRequest) error {
	slice := func(name string, from, to timeline.Time, args any) error {
		begin := t.since(from)
		lasted := t.since(to) - begin
		return t.put(traceEvent{Phase: "X", Name: name, Category: "network", PID: networkPID, TID: tid, Time: begin,
			Duration: &lasted, Args: args})
	}
	x := &r.Served
	err := slice(requestName(x.URL), r.from, r.to, requestArgs{x.Method, x.URL, x.Status, r.Over.Protocol, r.Over.ID,
		r.Reused, x.ResponseBytes, r.FirstByte.Exact() && r.Ended.Exact(), x.Error})
	for _, p := range r.parts {
		if err == nil {
			err = slice(p.Name, p.From, p.To, struct{}{})
		}
	}
	return err
}

// requestName is a short address: host and path, without the middle of a long one.
func requestName(address string) string {
	host, rest := hostAndRest(address)
	name := []rune(host + rest)
	if over := len(name) - maxRequestName; over > 0 {
		name = slices.Concat(name[:maxRequestName/2], []rune("…"), name[len(name)-maxRequestName/2+1:])
	}
	return cmp.Or(string(name), "request")
}

// hostAndRest splits an address, or has it whole as rest.
func hostAndRest(address string) (host, rest string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", address
	}
	return u.Host, u.RequestURI()
}
