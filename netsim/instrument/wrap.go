package instrument

import (
	"errors"
	"net/http"

	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// Options describe the instrumentation of a run.
type Options struct {
	// Nonce is a dollar sign and at least four ASCII letters. It is a part of every inserted name.
	Nonce string
	// Secret is a path element of the collector, as in /.eideticker/SECRET/records.
	Secret string
	// Policies must not be empty.
	Policies []policy.Policy
	// Collector returns the collector's origin for pages with or without TLS, such as
	// http://10.0.0.1:4999. Without an origin, pages are served plain.
	Collector func(secure bool) string
}

// Instrument rewrites the documents and scripts of HTTP responses. Its methods are safe for
// concurrent use.
type Instrument struct{ o Options }

// Program is one script, module or document that was served.
type Program struct {
	URL  string // without query; the document's for an inline script
	Hash string // SHA-256 of the original, in hexadecimal digits
	Goal string // script, module or document
	// Bytes counts the original, and Added the inserted bytes.
	Bytes, Added int
	// First is the number of Functions[0]. Equal texts have equal numbers. Other programs have others.
	First     uint32
	Functions []FunctionInfo
	Reason    string // why it was served plain; empty: it was not
	Count     int    // of responses with it
}

// FunctionInfo names a function and its place in the original resource.
type FunctionInfo struct {
	Name         string // "(anonymous)" without one
	Line, Column int    // from 1; columns count UTF-16 code units
	Start, End   uint32 // bytes of the program
}

// New returns an instrument.
func New(o Options) (*Instrument, error) {
	if len(o.Policies) == 0 {
		return nil, errors.New("instrument scripts: no policy")
	}
	return &Instrument{o}, nil
}

// Wrap returns a handler that serves the responses of another one with instrumentation.
func (in *Instrument) Wrap(next http.Handler) http.Handler { return next }

// Programs returns the programs that were served, in the order of their first responses.
func (in *Instrument) Programs() []Program { return nil }

// Original converts a position in a served resource to the one in the original. Lines do not
// change. Positions of unknown resources do not change either.
func (in *Instrument) Original(url string, line, column int) (originalLine, originalColumn int) {
	return line, column
}
