package runfolder

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/certify"
)

// TestPathOfTheRecording: latencies are corrected by the delay that the recording says its source
// is certified to have, unless another is given. A ping comes at 100 ms, frame 15 changes at 250
// ms.
func TestPathOfTheRecording(t *testing.T) {
	s := newScript(t)
	certified, err := json.Marshal(certify.Standing{Certified: true, Verdict: certify.Pass,
		Delay: &response.PathDelay{Low: 28e6, Median: 30e6, High: 34e6}})
	s.check(err)
	s.check(s.w.Metadata(response.CertificateMetadata, certified))
	s.check(s.w.Metadata("v4l2.device", json.RawMessage(`{"card":"c","scan_out_ns":16000000}`)))
	s.segment(64, 64)
	s.frames(30, func(k int) [3]byte { return [3]byte{byte(k / 15), 90, 90} })
	s.check(s.w.Event(timeline.Event{At: 6 * period, Source: "test", Kind: "ping"}))
	r := s.open()
	since := 9 * float64(period) / 1e6
	for _, tc := range []struct {
		name          string
		settings      Settings
		value, within float64
		scan          time.Duration
	}{
		{"as it says", Settings{}, since - 30, 4, 16 * time.Millisecond},
		{"as is given", Settings{OwnDelay: true, OwnScanOut: true,
			Response: response.Options{Delay: 10 * time.Millisecond}}, since - 10, 0, 0},
		{"as if there were none", Settings{OwnDelay: true}, since, 0, 16 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.settings.Measures = []string{"response"}
			found := analyzetest.Must(Run(t.Context(), r, tc.settings, "test", silent{}))(t)
			v, _ := found.Results.Windows[0].Results[0].Find("latency_p50")
			if math.Abs(v.Value-tc.value) > 1e-3 || math.Abs(v.High-tc.value-tc.within) > 1e-3 {
				t.Errorf("the latency is %v, up to %v, want %v and %v more", v.Value, v.High, tc.value, tc.within)
			}
			a := analysis{Settings: tc.settings, reader: r}
			if o := a.options(&window{}); o.Response.ScanOut != tc.scan {
				t.Errorf("the scan-out is %v, want %v", o.Response.ScanOut, tc.scan)
			}
		})
	}
}
