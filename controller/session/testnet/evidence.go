package testnet

import (
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/dns"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
)

// queries are the DNS queries of a network.
type queries struct {
	mu  sync.Mutex
	all []dns.Query
}

// maxQueries is more than any page needs.
const maxQueries = 10_000

func (q *queries) add(one dns.Query) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) < maxQueries {
		q.all = append(q.all, one)
	}
}

// delays are the shortest delays that a network had, one in each direction.
type delays struct {
	mu       sync.Mutex
	known    bool
	up, down time.Duration
}

func (d *delays) had(c link.Conditions) {
	up, down := har.Delays(c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known {
		d.known, d.up, d.down = true, up, down
	}
	d.up, d.down = min(d.up, up), min(d.down, down)
}

// Set changes the conditions of the link, from the next packet on.
func (n *Network) Set(c link.Conditions) error {
	if err := n.Link.Set(c); err != nil {
		return err
	}
	n.delays.had(c)
	return nil
}

// Evidence returns the queries and flows since a time, for a waterfall. Servers have the rest.
func (n *Network) Evidence(since timeline.Time) har.Evidence {
	var e har.Evidence
	for _, f := range n.Link.Flows() {
		if f.Opened >= since {
			e.Flows = append(e.Flows, f)
		}
	}
	n.queries.mu.Lock()
	for _, q := range n.queries.all {
		if q.At >= since {
			e.Names = append(e.Names, q)
		}
	}
	n.queries.mu.Unlock()
	n.delays.mu.Lock()
	e.Up, e.Down = n.delays.up, n.delays.down
	n.delays.mu.Unlock()
	return e
}
