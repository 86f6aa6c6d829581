package netlab

import (
	"fmt"
	"io"
	"net/http"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// Served are the connections and exchanges of a server.
type Served struct {
	Connections int            `json:"connections"`
	Exchanges   int            `json:"exchanges"`
	Protocols   map[string]int `json:"protocols"`  // exchanges by each
	Statuses    map[int]int    `json:"statuses"`   // exchanges by status
	SentBytes   int64          `json:"sent_bytes"` // of bodies
	Failed      int            `json:"failed"`     // exchanges that were not whole
	Missing     []string       `json:"missing"`    // requested paths without a file, the first hundred
	Refused     int            `json:"refused_connections"`
	NotNoted    int            `json:"not_noted"` // connections and exchanges beyond those that are counted here
}

const maxMissing = 100

// Count counts the connections and exchanges of a server.
func Count(s *serve.Server) Served {
	connections, exchanges := s.Witnessed()
	c := Served{Connections: len(connections), Exchanges: len(exchanges), Protocols: map[string]int{},
		Statuses: map[int]int{}, Missing: []string{}}
	c.Refused, c.NotNoted = s.Unnoted()
	seen := map[string]bool{}
	for _, x := range exchanges {
		c.SentBytes += x.ResponseBytes
		c.Statuses[x.Status]++
		if x.Connection > 0 {
			c.Protocols[connections[x.Connection-1].Protocol]++
		}
		if x.Error != "" {
			c.Failed++
		}
		if x.Status == http.StatusNotFound && len(c.Missing) < maxMissing && !seen[x.URL] {
			seen[x.URL] = true
			c.Missing = append(c.Missing, x.URL)
		}
	}
	return c
}

// WriteHAR writes the requests of a server since a time. Version is that of this program. Without a
// network, times are those of the server. Then conditions has the delays of a stream link.
func (c *Client) WriteHAR(w io.Writer, s *serve.Server, from timeline.Time, conditions link.Conditions,
	version string) error {
	var e har.Evidence
	about := har.Options{Creator: har.Program{Name: "eideticker", Version: version}, Title: "netsim",
		Comment: "Times are those of the server, because there was no packet link."}
	if c.Network != nil {
		e, about.Comment = c.Network.Evidence(from), "Times are those of packets at the device."
	} else {
		e.Up, e.Down = har.Delays(conditions)
	}
	e.Connections, e.Exchanges = s.Witnessed()
	about.Wall, _ = timeline.WallOffset(timeline.Monotonic())
	if _, lost := s.Unnoted(); lost > 0 {
		about.Comment += fmt.Sprintf(" %d connections and requests are missing, because there were too many.", lost)
	}
	return har.New(e).Write(w, about)
}
