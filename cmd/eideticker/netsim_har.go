package main

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// harFlags are those of commands that serve.
type harFlags struct {
	HAR string `name:"har" placeholder:"FILE" complete:"files" help:"Write requests as HAR 1.2, with times at the device if there is a link."`
}

// begin opens the file: what keeps it from being written is told before anything is served.
func (f harFlags) begin(force bool) (*harFile, error) {
	if f.HAR == "" {
		return nil, nil
	}
	out, err := createOut(f.HAR, force)
	if err != nil {
		return nil, err
	}
	out.mode = 0o600 // cookies and passwords of whatever site was loaded are in it
	return &harFile{out, timeline.Monotonic().Now()}, nil
}

// harFile is a HAR file in the making; nil: none was asked for.
type harFile struct {
	out  *outFile
	from timeline.Time
}

// finish writes what a server has seen, and the line where there was one; without one the servers'
// times are all there is, and c what a stream was like.
func (h *harFile) finish(s *serve.Server, n *testnet.Network, c link.Conditions) error {
	if h == nil {
		return nil
	}
	var e har.Evidence
	o := har.Options{Creator: har.Program{Name: "eideticker", Version: strings.TrimPrefix(program(), "eideticker ")},
		Title: "netsim", Comment: "Times are those of the server: no line was there to see packets."}
	if n != nil {
		e, o.Comment = n.Evidence(h.from), "Times are those at the device, as packets at its end of the line told them."
	} else {
		e.Up, e.Down = har.Delays(c)
	}
	e.Connections, e.Exchanges = s.Witnessed()
	o.Wall, _ = timeline.WallOffset(timeline.Monotonic())
	if _, lost := s.Unnoted(); lost > 0 {
		o.Comment += fmt.Sprintf(" %d connections and requests were not noted, since there were too many.", lost)
	}
	return h.out.finish(har.New(e).Write(h.out, o))
}
