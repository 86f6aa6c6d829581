// Package collect receives the records of instrumented scripts.
package collect

import (
	"net/http"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Options describe a collector.
type Options struct {
	Secret string // a path element
	Clock  timeline.Clock
	Quota  int64 // bytes of all accepted batches; 0: DefaultQuota
	// RealmQuota limits the bytes of one realm (default: Quota).
	RealmQuota int64
	// Accept receives each valid batch once, one at a time. raw is valid until it returns.
	Accept func(at timeline.Time, b *record.Batch, raw []byte)
}

// Collector is an http.Handler. It answers only below /.eideticker/SECRET/.
type Collector struct{ start timeline.Time }

// Stats count requests and batches.
type Stats struct {
	Batches, Records, Bytes int64 // accepted
	Dropped                 int64 // invalid records and details of accepted batches
	Duplicates              int64 // batches that had arrived before
	Missing                 int64 // batches whose sequence number never arrived
	Realms                  int
	Questions               int64            // for the clock
	Refused                 map[string]int64 // batches by reason
}

// New returns a collector. The clock starts now.
func New(o Options) *Collector { return &Collector{} }

// Start returns the time from which the clock of the answers counts.
func (c *Collector) Start() timeline.Time { return c.start }

// Stats returns the counts until now.
func (c *Collector) Stats() Stats { return Stats{} }

// ServeHTTP answers one request.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {}
