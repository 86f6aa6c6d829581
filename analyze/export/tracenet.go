package export

import (
	"cmp"
	"fmt"
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
	requests []*har.Request
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
	fall, err := readWaterfall(t.Network)
	if err != nil {
		return err
	}
	if id := fmt.Sprintf("%x", t.Reader.Info().ID); fall.Recording != "" && string(fall.Recording) != id {
		return fmt.Errorf("read %s: it is of another recording; export the recording.eid instead", t.Network)
	}
	t.tracks = requestTracks(fall, from, to)
	return nil
}

func readWaterfall(path string) (*har.Waterfall, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	fall, err := har.ReadWaterfall(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return fall, nil
}

// requestTracks shares requests among tracks, in the order in which connections begin.
func requestTracks(fall *har.Waterfall, from, to timeline.Time) (all []*requestTrack) {
	var order []string
	of := map[string][]*requestTrack{} // by connection, or by host where it is unknown
	slices.SortStableFunc(fall.Requests,
		func(a, b har.Request) int { return cmp.Compare(a.Begins().At, b.Begins().At) })
	for i := range fall.Requests {
		r := &fall.Requests[i]
		begin, end := r.Begins(), requestEnd(r)
		if !begin.Known() || begin.At >= to || end < from {
			continue
		}
		name := strings.TrimSpace(r.Host() + " " + r.Over.Protocol)
		key := name
		if r.Over.ID > 0 {
			key = fmt.Sprintf("connection %d", r.Over.ID)
			name += ", " + key
		}
		if of[key] == nil {
			order = append(order, key)
		}
		at := slices.IndexFunc(of[key], func(row *requestTrack) bool { return row.end <= begin.At })
		if at < 0 {
			if at = len(of[key]); at > 0 {
				name = fmt.Sprintf("%s (%d)", of[key][0].name, at+1)
			}
			of[key] = append(of[key], &requestTrack{name: name})
		}
		row := of[key][at]
		row.end = max(end, begin.At+1) // so that two slices without duration do not share a place
		row.requests = append(row.requests, r)
	}
	for _, key := range order {
		all = append(all, of[key]...)
	}
	return all
}

// requestEnd returns the end of a request's last part, or its begin.
func requestEnd(r *har.Request) timeline.Time {
	if parts := r.Parts(); len(parts) > 0 {
		return parts[len(parts)-1].To
	}
	return r.Begins().At
}

// requests writes the requests with their parts.
func (t *traceWriter) requests() {
	if len(t.tracks) > 0 {
		t.process(networkPID, "network")
	}
	for i, track := range t.tracks {
		tid := firstRequestTID + i
		t.track(networkPID, tid, track.name)
		for _, r := range track.requests {
			t.requestCount++
			slice := func(name string, from, to timeline.Time, args any, flow uint64) {
				begin := t.since(from)
				t.slice(traceEvent{Name: name, Category: "network", PID: networkPID, TID: tid, Time: begin, Args: args,
					flow: flow},
					t.since(to)-begin)
			}
			x := &r.Served
			slice(r.Label(maxRequestName), r.Begins().At, requestEnd(r), requestArgs{x.Method, x.URL, x.Status,
				r.Over.Protocol, r.Over.ID, r.Reused, x.ResponseBytes, r.FirstByte.Exact() && r.Ended.Exact(), x.Error},
				t.flows.of[r])
			for _, p := range r.Parts() {
				slice(p.Name, p.From, p.To, struct{}{}, 0)
			}
		}
	}
}
