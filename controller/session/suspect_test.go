package session

import (
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestSuspect: a late frame names the last response that came before it, as a suspicion.
func TestSuspect(t *testing.T) {
	const ms = 1_000_000
	request := func(path string, end int64, by har.Witness, fails string) har.Request {
		at := timeline.Time(end * ms)
		return har.Request{Ended: har.Moment{At: at, Earliest: at, Latest: at, By: by},
			Served: serve.Exchange{Method: "GET", URL: "https://a.test/" + path, Error: fails}}
	}
	fall := &har.Waterfall{Requests: []har.Request{
		request("at-its-begin", 100, har.Line, ""), request("app.js?token=secret", 188, har.Line, ""),
		request("no-packet", 190, har.Server, ""), request("failed", 191, har.Line, "reset"),
		request("at-its-end", 200, har.Line, ""), request("one\x1b[2J", 350, har.Line, ""),
		request("early", 1750, har.Line, ""), request("unordered", 1950, har.Line, "")}}
	late := []result.ProfileLate{{FromNS: 100 * ms, ToNS: 200 * ms}, {FromNS: 201 * ms, ToNS: 300 * ms},
		{FromNS: 300 * ms, ToNS: 400 * ms}, {Frame: 5, FromNS: 400 * ms, ToNS: 3000 * ms}}
	// Of the last frame the picture may be of 1900 ms.
	windows := []result.Window{{Times: result.FrameTimes{First: 5, Earliest: []int64{1900 * ms}}}}
	suspect(late, nil, nil)
	suspect(late, windows, fall)
	var got []string
	for _, l := range late {
		got = append(got, l.Suspected)
	}
	const begins = "Suspected, not measured: the response of "
	if want := []string{begins + "a.test/app.js came 12 ms before. It was the last of 2 responses.", "",
		begins + "https://a.test/one?[2J came 50 ms before.",
		begins + "a.test/early came 1,250 ms before."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
