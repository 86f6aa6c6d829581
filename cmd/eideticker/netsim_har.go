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

// harFlags are flags of commands that serve.
type harFlags struct {
	HAR string `name:"har" placeholder:"FILE" help:"Write requests as HAR 1.2."`
}

// begin creates the file before anything is served.
func (f harFlags) begin(force bool) (*harFile, error) {
	if f.HAR == "" {
		return nil, nil
	}
	out, err := createOut(f.HAR, force)
	if err != nil {
		return nil, err
	}
	out.mode = 0o600 // it contains cookies and passwords
	return &harFile{out, timeline.Monotonic().Now()}, nil
}

// harFile is an unfinished HAR file; nil: none.
type harFile struct {
	out  *outFile
	from timeline.Time
}

// finish writes the requests of a server. Without a network, the times are the server's, and c has
// the delays of a stream link.
func (h *harFile) finish(s *serve.Server, n *testnet.Network, c link.Conditions) error {
	if h == nil {
		return nil
	}
	var e har.Evidence
	o := har.Options{Creator: har.Program{Name: "eideticker", Version: strings.TrimPrefix(program(), "eideticker ")},
		Title: "netsim", Comment: "Times are those of the server, because there was no packet link."}
	if n != nil {
		e, o.Comment = n.Evidence(h.from), "Times are those of packets at the device."
	} else {
		e.Up, e.Down = har.Delays(c)
	}
	e.Connections, e.Exchanges = s.Witnessed()
	o.Wall, _ = timeline.WallOffset(timeline.Monotonic())
	if _, lost := s.Unnoted(); lost > 0 {
		o.Comment += fmt.Sprintf(" %d connections and requests are missing, because there were too many.", lost)
	}
	return h.out.finish(har.New(e).Write(h.out, o))
}
